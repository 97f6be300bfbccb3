"""Why a run, a schedule or a job type does not run: computed now, from the claim's own conditions."""
