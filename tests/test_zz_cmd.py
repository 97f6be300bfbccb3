from datetime import timedelta
from harness import wait_for
def test_echo(jobrunner, database):
    i = jobrunner.enqueue("echo", {"a": 1})
    print(jobrunner.tick())
    print(jobrunner.show(i)); print(jobrunner.status().keys())
    assert jobrunner.show(i)["status"]=="succeeded"
    assert database.wait_until("select status='succeeded' as x from job_runs where id=?",[i])
def test_hold(jobrunner, database, app):
    i = jobrunner.enqueue("wait_for", {"path": str(app.path("go"))})
    p = jobrunner.start("tick")
    wait_for(app.trace, 10)
    print(app.trace(), jobrunner.describe_leftovers())
    database.wait_until("select status='running' as x from job_runs where id=?",[i])
    app.release("go")
    assert p.wait(10)==0
    wait_for(lambda: not jobrunner.leftover_processes(), 5, jobrunner.describe_leftovers)
    assert jobrunner.show(i)["status"]=="succeeded"
def test_future(jobrunner, database, app):
    i = jobrunner.enqueue("append", run_at="+1h")
    jobrunner.tick(); assert app.trace()==[]
    database.move_clock(timedelta(hours=2)); jobrunner.tick(); assert len(app.trace())==1
def test_fail(jobrunner, app):
    i = jobrunner.enqueue("fail", {"message": "boo"}, max_attempts=1)
    jobrunner.tick()
    assert jobrunner.show(i)["status"]=="dead"
def test_private(private_jobrunner, private_postgres):
    private_jobrunner.enqueue("echo"); private_postgres.stop(); assert private_jobrunner.tick(check=False).returncode==69
