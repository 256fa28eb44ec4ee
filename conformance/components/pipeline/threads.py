"""The threads of a job: which of them may have something to do, and which ones a scenario lets work rarely."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.ports import Turn

ACTED, OVER = Turn.ACTED, Turn.OVER
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""
_OFTEN = 16
"""How much more often a thread is drawn than one that is slow in this attempt."""
_SLOW = ((), (), ("link",), ("restore", "writer"), ("master", "to", "from", "enumerator"))
"""Who may be slow in an attempt: nobody, the network, readers and writers of state, or the job master."""
SOMEBODY = ("",)
"""Stands for the threads of an engine that does not name them."""


class Threads:
    """Who may act: the threads that the job has named since their last turns began."""

    __slots__ = ("_deaf", "_drawn", "_slow", "acted", "awake", "blind", "clock", "steps", "waited", "was_idle")

    def __init__(self, steps: bool) -> None:
        """`steps`: whether the scenario says who works next."""
        self.steps = steps
        self.awake: dict[tuple[str], None] = {("master",) if steps else SOMEBODY: None}
        """Those that may have something to do, as operands of a step. The first operation says who has at the
        beginning; so that one is possible, it is the job master."""
        self.acted: dict[str, int] = {}
        """By thread, when it acted last."""
        self.clock = self.blind = 0
        """How many turns there were, and up to when others than the scenario have chosen them."""
        self.waited = 0
        """How often in a row an engine has given up waiting until nobody has anything to do."""
        self.was_idle = self._deaf = False
        """Whether nobody had anything to do when the last operation began; whether what the job says now about threads
        was before they had nothing to do any more."""
        self._slow: tuple[str, ...] = ()
        """How the names begin of the threads that are slow in this attempt."""
        self._drawn: Sequence[tuple[str]] | None = None

    def begin(self) -> None:
        """Notes that an operation may change something."""
        self.was_idle, self._deaf = not self.awake, False
        if not self.steps:
            self.awake[SOMEBODY] = None

    def wake(self, thread: str) -> None:
        """Notes that there is something to do for a thread."""
        if not self._deaf:
            self.awake[(thread,)] = None
            self._drawn = None

    def worked(self, thread: str, turn: Turn) -> None:
        """Notes what a turn has come to."""
        self.clock += 1
        self._drawn, self._deaf = None, False
        if turn is OVER:
            self.awake.clear()
            return
        self.awake.pop((thread,), None)
        if turn is ACTED:
            self.acted[thread] = self.clock

    def settled(self, idle: bool) -> None:
        """Notes that the engine has let its threads work. `idle`: nobody has anything to do now; what the job has said
        meanwhile comes next."""
        self.clock += 1
        self.blind = self.clock
        self.waited += 1
        if idle:
            self.waited = 0
            self.awake.clear()
            self._deaf, self._drawn = True, None

    def drawn(self) -> Sequence[tuple[str]]:
        """Returns those that may act, the slow ones rarely."""
        if self._drawn is None:
            fast, slow = [*self.awake], []
            if self._slow:
                slow = [one for one in fast if one[0].startswith(self._slow)]
                fast = [one for one in fast if not one[0].startswith(self._slow)]
            self._drawn = [*fast * _OFTEN, *slow] if slow else fast
        return self._drawn

    def new_attempt(self, number: int, vertices: int) -> None:
        """Chooses who is slow in this attempt: as `_SLOW` says, or a vertex."""
        kind = number % (len(_SLOW) + 1)
        self._slow = _SLOW[kind] if kind < len(_SLOW) else (f"task {number // 6 % vertices}/",)
        self._drawn = None
