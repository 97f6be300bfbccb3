"""Runs that wait in an event loop until others of their type end there. So long the parent can recall them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from jobrunner.children.messages import StartRun, StartRuns
from jobrunner.children.tokens import BadToken, Tokens


class RunsAhead:
    """All of them are of one type: the parent gives runs of another one when these have begun."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        # By sequence number, in the order in which they came. Those without a token were recalled.
        self._contents: deque[tuple[int, StartRun]] = deque()
        self._places = 0
        # The token that was taken last, if what it is for has not arrived yet.
        self._token: int | None = None

    def add(self, message: StartRuns) -> None:
        """Let these runs wait, too."""
        self._contents.extend(enumerate(message.runs(), message.first or 0))
        self._places = message.places or 0

    def take(self, at_work: Mapping[str, int]) -> StartRun | None:
        """Take the next run. None: there is none, or so many of its type are ``at_work`` that it has no place yet.

        Raises BadToken if the parent has not given the token.
        """
        contents = self._contents
        if not contents or at_work[contents[-1][1].job_type] >= self._places:
            return None
        if self._token is None:
            following = self._tokens.following()
            if following is None or following > contents[-1][0]:
                # What it is for has not arrived, perhaps a run of another type: once taken, it cannot be recalled.
                return None
            self._token = self._tokens.take()
        if self._token is None:
            return None
        while contents and contents[0][0] < self._token:
            contents.popleft()
        if not contents:
            return None
        number, start = contents.popleft()
        if number != self._token:
            raise BadToken
        self._token = None
        return start
