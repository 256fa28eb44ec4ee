"""What a step is: one function that performs an operation on a port, and what belongs to it.

```python
@step("task", LIVE, when=always, begin=Ledger.begin_poll, learn=Ledger.end_poll, weight=40)
def poll(port: GatePort, ledger: Ledger) -> Answer[GateTaken | None]:
    return port.poll()
```

The name, the operands and the type of the answer are those of the function. The type checker holds all of it together:
port, ledger, operands and answer must be the same for the operation, for what enables it and for what is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import signature
from typing import (
    Any,
    Generic,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from conformance.ports import Answer, Error, Port, Signal

P = TypeVar("P", bound=Port)
L = TypeVar("L")
V = TypeVar("V")
Ops = TypeVarTuple("Ops")

Operands: TypeAlias = tuple[Any, ...]
NO_OPERANDS: Sequence[tuple[()]] = ((),)
"""A step without operands is enabled."""
DISABLED: Sequence[Any] = ()

RUN = "run"
"""A turn: `("run", thread, stop)` lets a paused thread go on until it pauses at `stop`, is over or must wait."""
FINISH = "finish"
"""A turn: `("finish", thread)` lets it go on until its operation is over or it really must wait."""


class Ledger:
    """What the driver needs of every ledger; the rest is between the steps and the rules of a component."""

    __slots__ = ("closing", "phase")

    closing: bool
    """The scenario is over: this is the fair drain."""
    phase: str
    """Which steps can be meant at all: the coarsest part of the state. Kept, since every draw of a search reads it."""

    def __init__(self) -> None:
        self.closing = False

    def hear(self, signals: list[Signal]) -> None:
        """Learn of the signals that an operation emitted."""


class Seen(Generic[V, *Ops]):
    """What an operation led to, `Seen[answer, *operands]`. The same object serves a whole run."""

    __slots__ = ("error", "operands", "signals", "value")

    value: V
    error: Error | None
    signals: list[Signal]
    operands: tuple[*Ops]


class Step(Generic[L, V, *Ops]):
    """A kind of step: ledger, answer and operands stand in its type.

    It is enabled when the ledger is in one of the phases `during` which it can be meant, and `when(ledger)` answers the
    operands that are possible now, `((),)` if there are none. Both depend on the ledger alone, so they say the same for
    every implementation.
    """

    __slots__ = (
        "answers", "begin", "by", "call", "crashes", "during", "end", "fails", "fresh_port", "learn", "name",
        "operands", "weight", "when",
    )  # fmt: skip

    name: str
    by: str
    """Who acts. If it is a thread of the component, the operation runs on that thread, may pause there, and cannot
    begin while the thread is busy."""
    during: tuple[str, ...]
    when: Callable[[L], Sequence[tuple[*Ops]]]
    begin: Callable[[L, Unpack[Ops]], None] | None
    """What is known as soon as the operation begins."""
    call: Callable[..., Answer[V]]
    """`call(port, ledger, *operands)` performs the operation."""
    end: Callable[[L, Unpack[Ops]], None] | None
    """What is known when it is over, whatever came of it."""
    learn: Callable[..., None] | None
    """`learn(ledger, seen, *operands)`: what the ledger learns from the outcome."""
    operands: Mapping[str, type]
    answers: Any
    """The type of a proper answer."""
    weight: int
    """How likely a search draws it, among the others; 1 is meant to be rare."""
    fails: bool
    """An error is a possible answer, and some rule judges it."""
    fresh_port: bool
    """Once the call has answered, a fresh port takes the place of this one."""
    crashes: bool
    """Every operation in flight is abandoned first."""

    def __call__(self, *operands: *Ops) -> tuple[Any, ...]:
        """The step as it stands in a scenario: `persisted(3)` is `("persisted", 3)`."""
        return (self.name, *operands)

    def __repr__(self) -> str:
        return f"<step {self.name}>"


AnyStep: TypeAlias = Step[Any, Any, *tuple[Any, ...]]
Operation: TypeAlias = Callable[[P, L, Unpack[Ops]], Answer[V]]


class Steps(Generic[P, L]):
    """The steps of one component, in the order declared: tables to draw from, and ranks of scenarios, rest on it."""

    def __init__(self) -> None:
        self.all: list[AnyStep] = []

    @overload
    def step(
        self, by: str, during: tuple[str, ...], *,
        when: Callable[[L], Sequence[tuple[*Ops]]],
        begin: Callable[[L, Unpack[Ops]], None] | None = None,
        end: Callable[[L, Unpack[Ops]], None] | None = None,
        learn: Callable[[L, Seen[V], Unpack[Ops]], None],
        weight: int = 8, fails: bool = False, fresh_port: bool = False, crashes: bool = False, name: str = "",
    ) -> Callable[[Callable[[P, L, Unpack[Ops]], Answer[V]]], Step[L, V, *Ops]]: ...  # fmt: skip

    @overload
    def step(
        self, by: str, during: tuple[str, ...], *,
        when: Callable[[L], Sequence[tuple[*Ops]]],
        begin: Callable[[L, Unpack[Ops]], None] | None = None,
        end: Callable[[L, Unpack[Ops]], None] | None = None,
        weight: int = 8, fails: bool = False, fresh_port: bool = False, crashes: bool = False, name: str = "",
    ) -> Callable[[Callable[[P, L, Unpack[Ops]], V | Coroutine[Any, Any, V]]], Step[L, V, *Ops]]: ...  # fmt: skip

    def step(
        self, by: str, during: tuple[str, ...], *, when: Any, begin: Any = None, end: Any = None, learn: Any = None,
        weight: int = 8, fails: bool = False, fresh_port: bool = False, crashes: bool = False, name: str = "",
    ) -> Any:  # fmt: skip
        """Declare a step; `Step` says what each part means. `name`, where the function cannot have the step's name."""

        def declare(call: Callable[..., Any]) -> AnyStep:
            one: AnyStep = Step()
            one.name = name or call.__name__
            one.by, one.during, one.weight = by, during, weight
            one.when, one.begin, one.call, one.end, one.learn = when, begin, call, end, learn
            one.fails, one.fresh_port, one.crashes = fails, fresh_port, crashes
            hints = get_type_hints(call)
            one.operands = {operand: hints[operand] for operand in list(signature(call).parameters)[2:]}
            one.answers = _answer(hints["return"])
            self.all.append(one)
            return one

        return declare


def always(ledger: object) -> Sequence[tuple[()]]:
    """Enabled whenever the phase is right."""
    return NO_OPERANDS


def _answer(hint: Any) -> Any:
    """`Answer[V]` is V or a coroutine of it: the V."""
    values = [one for one in (get_args(hint) or (hint,)) if get_origin(one) is not Coroutine]
    answer = values[0]
    for one in values[1:]:
        answer = answer | one
    return answer
