"""A step is one function that performs an operation on a port; its decorator says when it is enabled, and so on.

```python
@step("task", LIVE, when=always, begin=Ledger.begin_poll, learn=Ledger.end_poll, weight=40)
def poll(port: GatePort, ledger: Ledger) -> Answer[GateTaken | None]:
    return port.poll()
```

The name, the operands and the type of the result are those of the function. The type checker checks that the function
and the arguments of the decorator agree on the types of the port, the ledger, the operands and the result.

An operation may have to end otherwise in another state: it must fail, or it gets the error that was kept. That is
another *case* of the same step:

```python
poll_after_release = poll.also("after release", ("released",), when=always, fails=True, weight=4)
```

A scenario says `["poll"]`; which case that is follows from the ledger when the operation begins, and stays so until it
ends. Each case is drawn with a weight of its own, and rules name the cases that they judge. No two cases of a step are
enabled at once with the same operands.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import FunctionType
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
"""What `when` returns for a step without operands that is enabled."""
DISABLED: Sequence[Any] = ()
"""What `when` returns for a step that is not enabled."""

RUN = "run"
"""A turn: `("run", thread, stop)` lets a paused thread go on until it pauses at `stop`, ends, or must wait."""
FINISH = "finish"
"""A turn: `("finish", thread)` lets a paused thread go on until its operation ends or it must wait."""


class Seen(Generic[V, *Ops]):
    """The operands and the outcome of an operation, `Seen[result, *operands]`. A run uses one object for all steps."""

    __slots__ = ("error", "operands", "signals", "unheard", "value")

    value: V
    error: Error | None
    signals: list[Signal]
    unheard: list[Signal]
    """Those of the signals that the ledger has not heard yet: not those before the last pause of the operation."""
    operands: tuple[*Ops]


class Step(Generic[L, V, *Ops]):
    """A kind of step. Its type names the types of the ledger, the result and the operands.

    It is enabled if the ledger is in one of the phases in `during` and `when(ledger)` returns operands that are
    possible now; for a step without operands these are `((),)`. Both depend on the ledger alone, and never on an
    implementation.
    """

    __slots__ = (
        "_declared", "answers", "begin", "by", "call", "cancels", "case", "crashes", "during", "end", "fails",
        "fresh_port", "in_words", "key", "learn", "name", "operands", "struck", "weight", "when",
    )  # fmt: skip

    name: str
    """What a scenario calls it. All cases of a step have this name."""
    case: str
    """Which case of the step this is, as `after release`; empty for the case that the decorator declared."""
    key: str
    """The name, with the case if there is one: `poll (after release)`. No other case of any step has it."""
    by: str
    """The name of the actor. If it is a thread of the component, the operation runs on that thread, may pause there,
    and cannot begin while the thread is busy."""
    during: tuple[str, ...]
    when: Callable[[L], Sequence[tuple[*Ops]]]
    begin: Callable[[L, Unpack[Ops]], None] | None
    """`begin(ledger, *operands)`: what the ledger learns when the operation begins."""
    call: Callable[..., Answer[V]]
    """`call(port, ledger, *operands)` performs the operation."""
    end: Callable[[L, Unpack[Ops]], None] | None
    """`end(ledger, *operands)`: what the ledger learns when the operation has ended, whatever the outcome is."""
    learn: Callable[..., None] | None
    """`learn(ledger, seen, *operands)`: what the ledger learns from the outcome."""
    struck: Callable[..., None] | None
    """`struck(ledger, seen, *operands)`: what the ledger learns from an operation that a fault has struck, in place of
    `end` and `learn`. None: an operation that a fault strikes is judged as any other."""
    operands: Mapping[str, type]
    answers: Any
    """The type that the result must have."""
    in_words: Callable[[Any], str] | None
    """How reports describe a result whose type does not say what it means, as a number. None: as its type says."""
    weight: int
    """How often a search draws it, relative to the other steps. A step with weight 1 is intended to be rare."""
    fails: bool
    """The operation may fail with an error, and a rule judges the error."""
    fresh_port: bool
    """After the call has returned, the driver replaces the port with a fresh one."""
    crashes: bool
    """Before the call, the driver abandons every operation that is in flight."""
    cancels: bool
    """The task is cancelled when the operation begins: the operations in flight go on, and may end in any way."""
    _declared: list[AnyStep]
    """All steps of the component so far."""

    def also(
        self, case: str, during: tuple[str, ...], *,
        when: Callable[[L], Sequence[tuple[*Ops]]],
        begin: Callable[[L, Unpack[Ops]], None] | None = None,
        end: Callable[[L, Unpack[Ops]], None] | None = None,
        learn: Callable[[L, Seen[V], Unpack[Ops]], None] | None = None,
        struck: Callable[[L, Seen[V], Unpack[Ops]], None] | None = None,
        weight: int = 8, fails: bool = False,
    ) -> Step[L, V, *Ops]:  # fmt: skip
        """Declare another case of this step: the same call by the same actor, which must end otherwise."""
        one: Step[L, V, *Ops] = Step()
        for slot in Step.__slots__:
            setattr(one, slot, getattr(self, slot))
        one.case, one.key = case, f"{self.name} ({case})"
        one.during, one.weight, one.fails = during, weight, fails
        one.when, one.begin, one.end, one.learn, one.struck = when, begin, end, learn, struck
        self._declared.append(one)
        return one

    def __call__(self, *operands: *Ops) -> tuple[Any, ...]:
        """The step as it stands in a scenario: `persisted(3)` is `("persisted", 3)`."""
        return (self.name, *operands)

    def __repr__(self) -> str:
        return f"<step {self.key}>"


AnyStep: TypeAlias = Step[Any, Any, *tuple[Any, ...]]
Operation: TypeAlias = Callable[[P, L, Unpack[Ops]], Answer[V]]


class Steps(Generic[P, L]):
    """The steps of one component, each case of each, in the order of declaration.

    The draws of a search and the ranks of scenarios depend on this order.
    """

    def __init__(self) -> None:
        self.all: list[AnyStep] = []

    @overload
    def step(
        self, by: str, during: tuple[str, ...], *,
        when: Callable[[L], Sequence[tuple[*Ops]]],
        begin: Callable[[L, Unpack[Ops]], None] | None = None,
        end: Callable[[L, Unpack[Ops]], None] | None = None,
        learn: Callable[[L, Seen[V], Unpack[Ops]], None],
        struck: Callable[[L, Seen[V], Unpack[Ops]], None] | None = None,
        weight: int = 8, fails: bool = False, fresh_port: bool = False, crashes: bool = False, cancels: bool = False,
        name: str = "", in_words: Callable[[Any], str] | None = None,
    ) -> Callable[[Callable[[P, L, Unpack[Ops]], Answer[V]]], Step[L, V, *Ops]]: ...  # fmt: skip

    @overload
    def step(
        self, by: str, during: tuple[str, ...], *,
        when: Callable[[L], Sequence[tuple[*Ops]]],
        begin: Callable[[L, Unpack[Ops]], None] | None = None,
        end: Callable[[L, Unpack[Ops]], None] | None = None,
        struck: Callable[[L, Seen[Any], Unpack[Ops]], None] | None = None,
        weight: int = 8, fails: bool = False, fresh_port: bool = False, crashes: bool = False, cancels: bool = False,
        name: str = "", in_words: Callable[[Any], str] | None = None,
    ) -> Callable[[Callable[[P, L, Unpack[Ops]], V | Coroutine[Any, Any, V]]], Step[L, V, *Ops]]: ...  # fmt: skip

    def step(
        self, by: str, during: tuple[str, ...], *, when: Any, begin: Any = None, end: Any = None, learn: Any = None,
        struck: Any = None, weight: int = 8, fails: bool = False, fresh_port: bool = False, crashes: bool = False,
        cancels: bool = False, name: str = "", in_words: Any = None,
    ) -> Any:  # fmt: skip
        """Declare a step. `Step` explains the arguments. `name` replaces the name of the function."""

        def declare(call: FunctionType) -> AnyStep:
            one: AnyStep = Step()
            one.name = one.key = name or call.__name__
            one.case, one._declared = "", self.all
            one.by, one.during, one.weight = by, during, weight
            one.when, one.begin, one.call, one.end, one.learn = when, begin, call, end, learn
            one.fails, one.fresh_port, one.crashes, one.struck = fails, fresh_port, crashes, struck
            one.cancels, one.in_words = cancels, in_words
            hints = get_type_hints(call)
            code = call.__code__
            one.operands = {operand: hints[operand] for operand in code.co_varnames[2 : code.co_argcount]}
            one.answers = _answer(hints["return"])
            self.all.append(one)
            return one

        return declare


def always(ledger: object) -> Sequence[tuple[()]]:
    """The `when` of a step without operands that is enabled in all phases in `during`."""
    return NO_OPERANDS


def _answer(hint: Any) -> Any:
    """Returns the V of `Answer[V]`, which is V or a coroutine that returns V."""
    values = [one for one in (get_args(hint) or (hint,)) if get_origin(one) is not Coroutine]
    answer = values[0]
    for one in values[1:]:
        answer = answer | one
    return answer
