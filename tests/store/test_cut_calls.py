"""A call that hangs is cut from another thread, which may come too late: then it ends nothing else."""

import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing, contextmanager
from itertools import count, takewhile
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from harness import PostgresDatabase, postgresql_only
from harness.silence import silent_after
from harness.waiting import stretched
from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.drivers.call_limit import limited
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import Waits

DRIVERS = str(Path(sys.modules[Store.__module__].__file__ or "").parent)


@contextmanager
def before_line(number: int, act: Callable[[], None]) -> Any:
    """Call ``act``, in another thread, before the block executes this line, counted in the package of the drivers.

    The block goes on when ``act`` is done, or waits for the block, as for a lock.
    """
    lines = count()
    other = threading.Thread(target=act)

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(DRIVERS):
            return None
        if event == "line" and next(lines) == number:
            other.start()
            other.join(stretched(0.2))
        return look

    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(None)
        if other.ident is not None:
            other.join(stretched(20))


@pytest.mark.promise("P6")
@postgresql_only
def test_cut_whose_call_ends_at_any_line_of_it_ends_no_connection_that_gets_the_same_descriptor(
    database: PostgresDatabase,
) -> None:
    """The descriptor of a closed connection is the next one's: a connection of the application was cut in its place."""
    reused = list(takewhile(lambda found: found is not None, (reuse_at(line, database) for line in count())))
    assert any(reused)


def reuse_at(line: int, database: PostgresDatabase) -> bool | None:
    """Whether a connection that is opened at this line of a cut gets its descriptor. None: it has fewer lines."""
    others: list[Any] = []
    with ExitStack() as opened, closing(Store(locate(database.url), patience=Waits(5, 5, stretched(5)))) as store:
        descriptor = store.connect().driver.fileno()

        def end_the_call() -> None:
            store.close()
            while not others or others[-1].fileno() < descriptor:
                others.append(opened.enter_context(closing(database.connect())))

        with before_line(line, end_the_call):
            store.cut()
        for each in others:
            assert each.execute("SELECT 1 AS one").fetchall() == [{"one": 1}]
        return others[-1].fileno() == descriptor if others else None


@postgresql_only
def test_connection_that_nobody_has_closed_keeps_no_descriptor(database: PostgresDatabase) -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    def open_and_forget() -> int:
        Store(locate(database.url), patience=Waits(5, 5, stretched(5))).connect()
        return descriptors()

    before = descriptors()
    with pytest.warns(ResourceWarning):
        after = open_and_forget()
    assert after == before


def test_call_that_waits_for_nobody_has_no_holder(store: Store) -> None:
    """It may only be slow. Who looks for its holder goes on, and cuts it when its time is over."""
    assert store.write(lambda connection: connection.wire.holder()) is None


@postgresql_only
@pytest.mark.parametrize("greets", [False, True], ids=["silent", "paused"])
def test_call_of_an_application_is_cut_although_nobody_says_who_holds_it(
    database: PostgresDatabase, greets: bool
) -> None:
    """The question for the holder failed, or had no answer, in the thread that was to cut the call."""
    limits = Waits(2, 2, stretched(2))

    def ask_for_ever(url: str) -> None:
        with closing(Store(locate(url), patience=limits)) as store, limited(store):
            while True:
                store.write(lambda connection: connection.execute("SELECT 1").scalar_one())

    with silent_after(database.url, 4, greets=greets) as url, pytest.raises(DatabaseUnavailable):
        ask_for_ever(url)
