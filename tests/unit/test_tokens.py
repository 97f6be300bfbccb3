"""Tokens: each run is either taken by its child or recalled by the parent, whatever a handler does to the socket."""

import os
import random
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.children.inside.ahead import RunsAhead
from jobrunner.children.messages import StartRun, StartRuns
from jobrunner.children.tokens import BadToken, Rung, TokenQueue, Tokens


class Pair:
    """Both sides. The child has a descriptor of its own, as after a fork."""

    def __init__(self) -> None:
        self.parent = TokenQueue()
        self.socket = socket.socket(fileno=os.dup(self.parent.descriptor))
        self.child = Tokens(self.socket)

    def give(self, *run_ids: int) -> None:
        self.parent.give(run_ids)

    def close(self) -> None:
        self.parent.close()
        self.socket.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    with closing(Pair()) as made:
        yield made


def test_a_run_is_taken_or_recalled_and_never_both(pair: Pair) -> None:
    pair.give(10, 11, 12)
    pair.give(13)
    assert [pair.child.take(), pair.child.take()] == [0, 1]
    assert pair.parent.recall() == [12, 13]
    assert pair.child.take() is None
    assert pair.parent.following == 4
    pair.give(12)
    assert (pair.child.take(), pair.child.take(), pair.parent.recall()) == (4, None, [])


@given(st.lists(st.sampled_from(["give", "take", "recall"]), max_size=60), st.randoms(use_true_random=False))
def test_every_run_that_is_given_is_taken_in_order_or_recalled(steps: list[str], chance: random.Random) -> None:
    waiting: list[int] = []
    with closing(Pair()) as pair:
        for step in steps:
            if step == "give":
                count = chance.randint(1, 5)
                waiting += range(pair.parent.following, pair.parent.following + count)
                pair.give(*waiting[-count:])
            elif step == "take":
                assert pair.child.take() == (waiting.pop(0) if waiting else None)
            else:
                assert pair.parent.recall() == waiting
                waiting = []


def test_tokens_that_the_socket_does_not_take_are_sent_later_or_recalled(pair: Pair) -> None:
    for run_id in range(2_000):
        pair.give(run_id)
    taken = [pair.child.take() for _ in range(10)]
    pair.parent.flush()
    assert taken == list(range(10))
    assert pair.parent.recall() == list(range(10, 2_000))
    assert pair.child.take() is None


def test_a_token_of_which_a_handler_has_read_a_part_counts_as_taken_and_the_child_begins_nothing(pair: Pair) -> None:
    pair.give(10, 11, 12)
    os.read(pair.socket.fileno(), 1)
    assert pair.parent.recall() == [11, 12]
    pair.give(13)
    os.read(pair.socket.fileno(), 2)
    with pytest.raises(BadToken):
        pair.child.take()


def test_a_socket_that_a_handler_has_shut_gives_no_token_and_all_runs_back(pair: Pair) -> None:
    pair.give(10)
    pair.socket.shutdown(socket.SHUT_RDWR)
    pair.give(11)
    assert pair.parent.recall() == [10, 11]
    with pytest.raises(BadToken):
        pair.child.take()
    assert pair.parent.take_rung().is_over


def test_a_bell_that_is_rung_without_end_neither_blocks_the_child_nor_hides_anything(pair: Pair) -> None:
    for _ in range(5_000):
        pair.child.ring()
    pair.give(10)
    assert pair.child.take() == 0
    assert pair.parent.take_rung() == Rung()


def test_a_bell_tells_that_the_child_rests_also_among_many_that_do_not(pair: Pair) -> None:
    assert pair.parent.take_rung() == Rung()
    for rests in (False, True, False):
        pair.child.ring(rests=rests)
    assert pair.parent.take_rung() == Rung(rests=True)
    assert pair.parent.take_rung() == Rung()


def test_token_of_a_run_whose_content_has_not_arrived_can_be_recalled_though_others_were_before(pair: Pair) -> None:
    """The content of recalled runs stays in the child. By the places of their type, the next token seemed free."""
    ahead = RunsAhead(pair.child)
    start = StartRun(1, "recalled", {}, 1, 1, 0.0, 0.0, 1000, 0.0)
    ahead.add(StartRuns.of(pair.parent.following, [start], places=1))
    pair.give(1)
    assert pair.parent.recall() == [1]
    pair.give(11, 12)
    assert ahead.take(Counter({"next": 1})) is None
    assert pair.parent.recall() == [11, 12]
