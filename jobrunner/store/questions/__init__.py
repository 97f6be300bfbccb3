"""What people ask: each module reads for one answer, and changes nothing."""
