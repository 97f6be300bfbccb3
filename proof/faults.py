"""What goes wrong. Each fault does the harm and brings the machines back; a load runs all the while."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass

from proof.hosts import STATE_MB, can_set_clocks
from proof.servers import ASYNCHRONOUS, DISK_MB, ROLE, SYNCHRONOUS, fill, give_room
from proof.stage import Stage

Doing = Callable[[Stage], None]


@dataclass(frozen=True)
class Fault:
    """``title`` is the row of the page. ``forgets``: what the database has lost then is no promise's."""

    name: str
    title: str
    do: Doing
    forgets: bool = False


FAULTS: list[Fault] = []


class NotHere(Exception):
    """This machine cannot have the fault. The message is the reason."""


def fault(title: str, *, forgets: bool = False) -> Callable[[Doing], Doing]:
    def add(do: Doing) -> Doing:
        FAULTS.append(Fault(do.__name__.replace("_", "-"), title, do, forgets))
        return do

    return add


@fault("nothing goes wrong")
def nothing(stage: Stage) -> None:
    time.sleep(5)


@fault("ticks are killed (SIGKILL), again and again")
def ticks_killed(stage: Stage) -> None:
    killed = 0
    for _ in range(6):
        killed += stage.choice.choice(stage.hosts).kill_a_tick(stage.choice)
        time.sleep(stage.choice.uniform(0.5, 2.5))
    stage.note(f"{killed} ticks were killed")


@fault("a host loses its power, and starts again")
def host_killed(stage: Stage) -> None:
    host = stage.choice.choice(stage.hosts)
    host.machine.cut_power()
    time.sleep(stage.choice.uniform(2, 6))
    host.start()
    stage.note(f"{host.name} lost all its processes; its next boot has another identity, its state folder stays")


@fault("the server is killed (SIGKILL), and starts again")
def server_killed(stage: Stage) -> None:
    server = stage.cluster.primary
    server.machine.kill()
    time.sleep(stage.choice.uniform(1, 4))
    server.start()


@fault("the pooler is killed (SIGKILL), and starts again")
def pooler_killed(stage: Stage) -> None:
    stage.pool.machine.kill()
    time.sleep(stage.choice.uniform(1, 4))
    stage.pool.start()


@fault("a host is cut off for longer than its lease, and rejoins")
def partition(stage: Stage) -> None:
    host = stage.choice.choice(stage.hosts)
    seconds = stage.lease + stage.choice.uniform(2, 7)
    host.machine.cut_off()
    time.sleep(seconds)
    host.machine.rejoin()
    stage.note(f"all packets of {host.name} were dropped for {seconds:.0f} s")


@fault("the synchronous standby is cut off, and rejoins")
def standby_cut_off(stage: Stage) -> None:
    machine = stage.cluster.synchronous.machine
    machine.cut_off()
    time.sleep(stage.choice.uniform(6, 9))
    machine.rejoin()


@fault("the primary dies, the synchronous standby is promoted")
def synchronous_promotion(stage: Stage) -> None:
    _promote(stage, SYNCHRONOUS)


@fault("the primary dies, the asynchronous standby is promoted", forgets=True)
def asynchronous_promotion(stage: Stage) -> None:
    standby = stage.cluster.asynchronous.machine
    standby.cut_off()
    seconds = stage.choice.uniform(1.5, 3)
    time.sleep(seconds)
    stage.note(f"the standby had not received the last {seconds:.1f} s")
    stage.cluster.primary.machine.cut_power()
    standby.rejoin()
    _promote(stage, ASYNCHRONOUS)


def _promote(stage: Stage, kind: str) -> None:
    began = time.monotonic()
    stage.cluster.promote(kind)
    stage.pool.lead_to(stage.cluster.primary)
    stage.note(f"promoted {time.monotonic() - began:.1f} s after the death")
    stage.cluster.follow()


@fault("a rolling deploy: new handlers host by host, and runs of a type that only the new code has")
def rolling_deploy(stage: Stage) -> None:
    for number, host in enumerate(stage.hosts):
        host.deploy(2)
        if number == 0:
            stage.say("more")
        time.sleep(3)


@fault("an upgrade from the last release, host by host")
def upgrade(stage: Stage) -> None:
    """The hosts work with the release from the start on: program.py begins with this fault."""
    first = stage.hosts[0]
    first.use(None)
    stage.must(first, "migrate")
    for host in stage.hosts:
        host.use(None)
        host.stop()
        host.start()
        time.sleep(3)
    stage.use(None)


@fault("the clock of a host is set an hour forward, then an hour back, while its ticks work")
def clock(stage: Stage) -> None:
    if not can_set_clocks():
        raise NotHere("there is no C compiler, cc, for the clock that can be set")
    host = stage.choice.choice(stage.hosts)
    host.stop()
    host.has_clock = True
    host.start()
    time.sleep(4)
    for seconds in (3600, -3600):
        host.set_clock(seconds)
        time.sleep(8)
    host.has_clock = False
    host.stop()
    host.set_clock(0)
    host.start()


@fault("the disk of the server is full, and gets room again")
def server_disk_full(stage: Stage) -> None:
    server = stage.cluster.primary
    fill(server.disk)
    time.sleep(8)
    is_alive = server.is_alive()
    give_room(server.disk, DISK_MB)
    if not (is_alive and server.is_alive()):
        server.machine.kill()
        server.start()
    stage.note("the server went on" if is_alive else "the server ended, and was started again")


@fault("the state folders of the hosts are full, and get room again")
def state_folder_full(stage: Stage) -> None:
    for host in stage.hosts:
        fill(host.state)
    stage.choice.choice(stage.hosts).kill_a_tick(stage.choice)
    time.sleep(12)
    for host in stage.hosts:
        give_room(host.state, STATE_MB)


@fault("the password is rotated: server and pooler first, then host by host")
def password_rotated(stage: Stage) -> None:
    stage.password = f"{stage.choice.getrandbits(64):x}"
    with stage.cluster.primary.admin("postgres") as connection:
        connection.execute(f"ALTER ROLE {ROLE} PASSWORD '{stage.password}'")
    stage.pool.know(stage.password)
    # PgBouncer's own sessions keep the old login; new ones of its clients need the new one.
    for host in stage.hosts:
        time.sleep(3)
        stage.tell_url([host])


@fault("the database is restored from a backup", forgets=True)
def restored(stage: Stage) -> None:
    """By docs/howto/restored.md, but for its step 4: nobody here knows which runs must not be done twice."""
    backup = stage.folder / "backup"
    began = time.monotonic()
    stage.cluster.primary.back_up(backup)
    time.sleep(12)
    for host in stage.hosts:
        host.stop()
    lost = time.monotonic() - began
    stage.cluster.primary.restore(backup)
    shutil.rmtree(backup)
    stage.cluster.follow()
    stage.must(stage.hosts[0], "schedule", "resume", "--all", "--from", "now")
    for host in stage.hosts:
        host.start()
    stage.note(f"the backup was {lost:.0f} s old")


@fault("several at once, at random")
def several_at_once(stage: Stage) -> None:
    names = []
    for _ in range(6):
        what = stage.choice.choice(["tick", "host", "server", "partition", "pooler"])
        names.append(what)
        host = stage.choice.choice(stage.hosts)
        match what:
            case "tick":
                host.kill_a_tick(stage.choice)
            case "host":
                host.machine.cut_power()
                host.start()
            case "server":
                server_killed(stage)
            case "partition":
                host.machine.cut_off()
                time.sleep(stage.choice.uniform(1, 10))
                host.machine.rejoin()
            case "pooler":
                stage.pool.machine.kill()
                stage.pool.start()
        time.sleep(stage.choice.uniform(0.2, 3))
    stage.note(", ".join(names))
