"""The threads of a job: which of them may have something to do, and which ones a scenario lets work rarely."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.pipeline.graph import Graph
from conformance.ports import Turn

ACTED, OVER = Turn.ACTED, Turn.OVER
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""
_OFTEN = 16
"""How much more often a thread is drawn than one that is slow in this attempt."""
_MOODS = 6
_READERS, _NETWORK, _MASTER = ("restore", "writer"), ("link",), ("master", "to", "from", "enumerator")


class Threads:
    """Who may act: the threads that the job has named since their last turns began."""

    __slots__ = (
        "_drawn", "_mood", "_vertex", "acted", "awake", "clock", "deaf", "graph", "known", "slow",
        "steps", "was_idle",
    )  # fmt: skip

    def __init__(self, graph: Graph, steps: bool) -> None:
        """`steps`: whether the scenario says who works next."""
        self.graph = graph
        self.steps = steps
        self.known = steps
        """Whether it is known who may act."""
        self.awake: dict[tuple[str], None] = {("master",): None} if steps else {}
        """Those that may have something to do, as operands of a step. The first operation says who has at the
        beginning; so that one is possible, it is the job master."""
        self.slow: set[tuple[str]] = set()
        """Those of them that are drawn rarely."""
        self.acted: dict[str, int] = {}
        """By thread, when it acted last."""
        self.clock = 0
        """How many turns there were."""
        self.was_idle = self.deaf = False
        """Whether nobody had anything to do when the last operation began; whether what the job says now about threads
        was before they had nothing to do any more."""
        self._drawn: Sequence[tuple[str]] | None = None
        self._mood = self._vertex = 0

    def begin(self) -> None:
        """Notes that an operation may change something."""
        self.was_idle = self.known and not self.awake
        if not self.steps:
            self.known = False

    def wake(self, thread: str) -> None:
        """Notes that there is something to do for a thread."""
        if self.deaf:
            return
        one = (thread,)
        if one not in self.awake:
            self.awake[one] = None
            self._drawn = None
            if self._mood and self._is_slow(thread):
                self.slow.add(one)

    def worked(self, thread: str, turn: Turn) -> None:
        """Notes what a turn has come to."""
        self.clock += 1
        self._drawn = None
        if turn is OVER:
            self.sleep()
            return
        self.awake.pop((thread,), None)
        self.slow.discard((thread,))
        if turn is ACTED:
            self.acted[thread] = self.clock

    def sleep(self) -> None:
        """Notes that nobody has anything to do."""
        self.awake.clear()
        self.slow.clear()
        self._drawn = None

    def settled(self, idle: bool, told: bool) -> None:
        """Notes that the engine has let all threads work. `idle`: nobody has anything to do now. `told`: what the job
        has said meanwhile comes next."""
        if idle:
            self.sleep()
            self.known, self.deaf = True, told
        self.clock += 1

    def drawn(self) -> Sequence[tuple[str]]:
        """Returns those that may act, the slow ones rarely."""
        if self._drawn is None:
            fast = [one for one in self.awake if one not in self.slow]
            self._drawn = [*fast * _OFTEN, *self.slow] if self.slow else fast
        return self._drawn

    def first(self) -> tuple[str] | None:
        """Returns the thread that has waited longest for its turn; None: nobody may act."""
        return next(iter(self.awake), None)

    def new_attempt(self, number: int) -> None:
        """Chooses who is slow in this attempt: nobody, a vertex, the network, readers of state, or the job master."""
        self._mood, self._vertex = number % _MOODS, number // _MOODS % len(self.graph.config.vertices)
        self.slow = {one for one in self.awake if self._is_slow(one[0])}
        self._drawn = None

    def _is_slow(self, thread: str) -> bool:
        if self._mood == 2:
            return thread.startswith(f"task {self._vertex}/")
        who = {3: _NETWORK, 4: _READERS, 5: _MASTER}.get(self._mood, ())
        return thread.partition(" ")[0] in who
