"""An application of hundreds of job types is imported by each tick that has a run."""

from harness.counted_calls import calls_of
from jobrunner import Context, job


def register(first: int, count: int) -> None:
    for number in range(first, first + count):

        @job(f"type_{number}")
        def tried(ctx: Context, order_id: int, note: str = "") -> None: ...


def test_a_handler_beside_hundreds_of_others_is_registered_with_no_more_calls_than_the_first_ones() -> None:
    register(0, 1)
    few = calls_of(lambda: register(1, 100))
    register(101, 500)
    assert calls_of(lambda: register(601, 100)) < few * 1.1
