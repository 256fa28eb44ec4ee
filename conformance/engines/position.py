"""Where a run is, in memory that two processes share: one writes, and the other reads it when the writer has ended.
The other one can interrupt the writer, which is also an `Interruption`.

The writer notes each step before it performs it. That costs a copy into memory and no call of the operating system.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from conformance.driver import Component, Components, Program
from conformance.driver.program import Log
from conformance.engines.interruption import until
from conformance.ports.implementation import NEW
from conformance.scenarios import Entry, Scenario, Step

SIZE = 1 << 22
"""How much of a run is kept, in bytes. Steps that do not fit are performed, and not noted."""
_NUMBER = struct.Struct("<q")
"""At the beginning: the number of the scenario."""
_STATE = struct.Struct("<QQ")
"""Then how many steps were noted, and where the notes of the run end."""
_AT, _INTERRUPTED = _NUMBER.size, _NUMBER.size + _STATE.size
"""Where that state is, and behind it the one byte that the reader writes: whether the writer should end early."""
_BEGIN = _INTERRUPTED + 1
_write_state = _STATE.pack_into
_CLOSING = b'"drain"\n'
_encode = msgspec.json.Encoder().encode


def new_memory() -> int:
    """Returns the descriptor of a new shared memory, which ends with the processes that have it open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("conformance-position")
    else:
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
    os.ftruncate(descriptor, SIZE)
    return descriptor


class Writer:
    """Notes where the runs of this process are."""

    def __init__(self, descriptor: int) -> None:
        self.memory = mmap.mmap(descriptor, SIZE)
        self.beats = 0
        self.used = _BEGIN

    @property
    def requested(self) -> bool:
        """Whether the reader interrupts this process."""
        return self.memory[_INTERRUPTED] != 0

    def numbers(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yields the numbers of scenarios, until the reader interrupts it, and notes each as that of the scenario that
        begins."""
        for number in until(self, numbers):
            self.number(number)
            yield number

    def number(self, number: int) -> None:
        """Note the number of the scenario that begins."""
        self.beats += 1
        _NUMBER.pack_into(self.memory, 0, number)
        _write_state(self.memory, _AT, self.beats, self.used)

    def begin(self, line: bytes) -> None:
        """Note the beginning of a run."""
        self.used = _BEGIN
        self.note(line)

    def say(self, what: str) -> None:
        """Note what is done now, if it is no run of a scenario. Nothing: the suite itself is at work."""
        self.begin(what.encode())

    def rest(self) -> None:
        """Note that the suite itself is at work, for as long as it takes, and nothing of a stranger runs."""
        self.beats += 1
        _write_state(self.memory, _AT, self.beats, 0)

    def note(self, line: bytes) -> None:
        """Note a step. It is there for the reader once the end of the notes is behind it."""
        end = self.used + len(line)
        self.beats += 1
        if end <= SIZE:
            self.memory[self.used : end] = line
            self.used = end
        _write_state(self.memory, _AT, self.beats, self.used)


class Followed:
    """The log of one program (see `Log` in the driver). `side` says which, for the reader."""

    def __init__(self, writer: Writer, program: Program, side: str) -> None:
        self._writer = writer
        self._head = [side, program.component.name]
        self.streamed: list[Entry] | None = None
        """Where entries go at once; None: each run keeps its own."""

    def begin(self, config: Any) -> list[Step]:
        """See `Log`."""
        self._writer.begin(_encode([*self._head, config]) + b"\n")
        return _Noted(self._writer)

    def closing(self) -> None:
        """See `Log`."""
        self._writer.note(_CLOSING)

    def entries(self) -> list[Entry]:
        """See `Log`."""
        return [] if self.streamed is None else self.streamed


Follow = Callable[[Program], Log | None]
"""Returns the log of a program that will be run."""


def unfollowed(program: Program) -> None:
    """No log follows this program."""


class _Noted(list[Step]):
    """A list of steps that notes each step that is appended."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._note = writer.note

    def append(self, step: Step) -> None:
        self._note(_encode(step) + b"\n")
        super().append(step)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a process was: the run in flight, and its last step."""

    side: str
    """The program that was run."""
    number: int
    """The number of the scenario, if the runs have numbers."""
    scenario: Scenario | None
    """The steps that were begun, without those of the drain. None: no run had begun."""
    drained: tuple[Step, ...] | None
    """The steps of the drain that were begun. None: the drain had not begun."""

    def operation(self, component: Component) -> Step:
        """Returns the step that began the operation in flight. For a turn, it is the operation that went on."""
        steps = (*(self.scenario.steps if self.scenario else ()), *(self.drained or ()))
        if not steps:
            return (NEW,)
        last = steps[-1]
        if component.is_turn(last):
            thread_of = {kind.name: kind.by for kind in component.steps}
            return next((one for one in reversed(steps) if thread_of.get(one[0]) == last[1]), last)
        return last

    def place(self, component: Component) -> str:
        """Returns a phrase that says at which step the run was."""
        operation = self.operation(component)[0]
        if self.scenario is None:
            return "before a scenario began"
        if self.drained is not None:
            return (
                f"in the fair drain, at its step {len(self.drained)}, {operation}" if self.drained else "in the drain"
            )
        return f"at step {len(self.scenario.steps)}, {operation}" if self.scenario.steps else f"at {operation}"


NOWHERE = Position("", -1, None, None)
"""No run had begun."""


class Reader:
    """Reads where another process is, and interrupts it."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def interrupt(self, requested: bool) -> None:
        """Interrupt the writer, or no longer interrupt it, if it may begin something new."""
        self._memory[_INTERRUPTED] = requested

    @property
    def beats(self) -> int:
        """A number that changes with every step."""
        return int(_STATE.unpack_from(self._memory, _AT)[0])

    @property
    def has_begun(self) -> bool:
        """Whether the writer has noted a run, or what it does, and not only that it is there."""
        return int(_STATE.unpack_from(self._memory, _AT)[1]) > _BEGIN

    @property
    def rests(self) -> bool:
        """Whether nothing of a stranger runs in the writer."""
        beats, used = _STATE.unpack_from(self._memory, _AT)
        return bool(beats) and not used

    @property
    def said(self) -> str:
        """What the writer does, if it is no run of a scenario."""
        _, used = _STATE.unpack_from(self._memory, _AT)
        return self._memory[_BEGIN : max(used, _BEGIN)].decode(errors="replace")

    @property
    def number(self) -> int:
        """The number of the scenario that is being run."""
        return int(_NUMBER.unpack_from(self._memory, 0)[0])

    def position(self, components: Components) -> Position:
        """Returns where the other process is. It must not be running any more."""
        _, used = _STATE.unpack_from(self._memory, _AT)
        head, *lines = self._memory[_BEGIN : max(used, _BEGIN)].split(b"\n")
        if not head:
            return Position("", self.number, None, None)
        side, component, config = msgspec.json.decode(head)
        steps: list[Step] = []
        drained: list[Step] | None = None
        for line in lines:
            if line + b"\n" == _CLOSING:
                drained = []
            elif line:
                (steps if drained is None else drained).append(msgspec.json.decode(line, type=tuple[Any, ...]))
        decoded = msgspec.convert(config, components.config_type(component))
        scenario = Scenario(component, decoded, tuple(steps))
        return Position(side, self.number, scenario, None if drained is None else tuple(drained))
