"""Child processes: how handlers run so that none of them can take the tick down."""
