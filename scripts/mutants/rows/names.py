"""What the rows of several rooms name."""

STORE = "jobrunner/store"
STATEMENTS = f"{STORE}/statements"
AT_ONCE = "tests/promises/test_two_at_once.py"
MEANWHILE = f"{AT_ONCE}::test_run_changed_by_an_open_transaction_is_not_claimed_recovered_or_pruned"
BEATS = "tests/worker/test_heartbeat.py"
STALE = f"{BEATS}::test_a_stale_owner_renews_no_lease_of_another_owner_and_writes_no_report_of_its_run"
