"""Subpartitions whose results and signals are equal to those that they should be, and are of other types."""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Availability,
    Buffer,
    BufferAndBacklog,
    Element,
    ErrorKind,
    PortError,
    PriorityAvailable,
    Resources,
    Signal,
)
from reference_impl.network.subpartition import Subpartition
from tests.implementations import With


class Anything(int):
    """A number that is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


class Shadow(BufferAndBacklog, frozen=True):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Word(str):
    __slots__ = ()


class Pretending(list[Signal]):
    pass


class Polling(Subpartition):
    """What is polled is replaced."""

    def poll(self) -> Any:
        taken = super().poll()
        return None if taken is None else self.other(taken)

    def other(self, taken: BufferAndBacklog) -> Any:
        return taken


class NumberEqualToAll(Polling):
    def other(self, taken: BufferAndBacklog) -> Any:
        return BufferAndBacklog(taken.element, Anything(taken.seq), taken.next, taken.backlog)


class FloatForNumber(Polling):
    def other(self, taken: BufferAndBacklog) -> Any:
        return BufferAndBacklog(taken.element, float(taken.seq), taken.next, taken.backlog)  # type: ignore[arg-type]


class FloatInTheElement(Polling):
    def other(self, taken: BufferAndBacklog) -> Any:
        element: Any = taken.element
        if type(element) is Buffer:
            element = Buffer(tuple(map(float, element.ids)))  # type: ignore[arg-type]
        return BufferAndBacklog(element, taken.seq, taken.next, taken.backlog)


class ListForTuple(Polling):
    def other(self, taken: BufferAndBacklog) -> Any:
        element: Any = taken.element
        if type(element) is Buffer:
            element = Buffer(list(element.ids))  # type: ignore[arg-type]
        return BufferAndBacklog(element, taken.seq, taken.next, taken.backlog)


class WordForName(Polling):
    def other(self, taken: BufferAndBacklog) -> Any:
        return BufferAndBacklog(taken.element, taken.seq, Word(taken.next), taken.backlog)  # type: ignore[arg-type]


class SubclassOfTheAnswer(Polling):
    def other(self, taken: BufferAndBacklog) -> Any:
        return Shadow(taken.element, taken.seq, taken.next, taken.backlog)


class OneForTrue(Subpartition):
    def add(self, element: Element) -> Any:
        return int(super().add(element))


class OneForTrueInside(Subpartition):
    def available(self, has_credit: bool) -> Any:
        found = super().available(has_credit)
        return Availability(int(found.available), found.backlog)  # type: ignore[arg-type]


class ZeroForNothingLater(Subpartition):
    async def finish(self) -> Any:  # type: ignore[override]
        super().finish()
        return 0


class TrueForOne(Subpartition):
    def resources(self) -> Any:
        return Resources(**{name: bool(count) for name, count in vars_of(super().resources()).items()})


def vars_of(one: Resources) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


class SignalWithAFloat(Subpartition):
    def emit(self, signal: Signal) -> None:
        if type(signal) is PriorityAvailable:
            signal = PriorityAvailable(float(signal.seq))  # type: ignore[arg-type]
        super().emit(signal)


class SignalsOfAnotherKind(Subpartition):
    def flush(self) -> None:
        super().flush()
        self.signals = Pretending(self.signals)


class NoSignals(Subpartition):
    def flush(self) -> None:
        super().flush()
        self.signals = None  # type: ignore[assignment]


class SignalsThatRaise(Subpartition):
    _emitted: Any = None

    @property
    def signals(self) -> Any:
        if type(self._emitted) is list and len(self._emitted) > 0:
            raise ZeroDivisionError("no signals today")
        return self._emitted

    @signals.setter
    def signals(self, value: Any) -> None:
        self._emitted = value


class ErrorOfAnotherKind(Subpartition):
    def finish(self) -> None:
        raise PortError(Word(ErrorKind.STATE))  # type: ignore[arg-type]


LYING: dict[type[Subpartition], str] = {
    NumberEqualToAll: "Expected `int`, got `tests.lying.Anything` - at `$.seq`",
    FloatForNumber: "Expected `int`, got `float` - at `$.seq`",
    FloatInTheElement: "Expected `int`, got `float` - at `$.element.ids[0]`",
    ListForTuple: "Expected `array`, got `list` - at `$.element.ids`",
    WordForName: "Expected `Next`, got `tests.lying.Word` - at `$.next`",
    SubclassOfTheAnswer: "Expected `BufferAndBacklog | null`, got `tests.lying.Shadow` - at `$`",
    OneForTrue: "Expected `bool`, got `int` - at `$`, found 1",
    OneForTrueInside: "Expected `bool`, got `int` - at `$.available`",
    ZeroForNothingLater: "Expected `null`, got `int` - at `$`, found 0",
    TrueForOne: "Expected `int | null`, got `bool` - at `$.",
    SignalWithAFloat: "emitted signals of the wrong type: Expected `int`, got `float` - at `$[0].seq`",
    SignalsOfAnotherKind: "has `signals` of the wrong type: Expected `list`, got `tests.lying.Pretending`",
    NoSignals: "has `signals` of the wrong type: Expected `list`, got `NoneType`",
    SignalsThatRaise: "ZeroDivisionError: no signals today",
    ErrorOfAnotherKind: "PortError: state",
}
"""Each with what is said of it."""


def number_equal_to_all() -> With:
    """The implementation of a name."""
    return With(NumberEqualToAll, "number-equal-to-all")


def one_for_true() -> With:
    return With(OneForTrue, "one-for-true")


def no_signals() -> With:
    return With(NoSignals, "no-signals")
