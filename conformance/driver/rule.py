"""A rule is one function: its name is the slug, its docstring is the statement, and its decorator says the rest.

```python
@rule(poll, invariant="I-30", tickets=("FLINK-19681",))
def priority_events_come_first(ledger: Ledger, seen: Seen[GateTaken | None]) -> Judgement:
    \"\"\"A poll returns a priority event if any channel has one.\"\"\"
```

The decorator takes the steps themselves and not their names, so the type checker knows the types of the result and of
the operands in `seen`. Every check is called in the same way, `check(ledger, seen)`, which keeps the hot path simple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, TypeVarTuple, Unpack, overload

from conformance.driver.judgement import Judgement, Kind, Level
from conformance.driver.setting import Never, Setting
from conformance.driver.step import AnyStep, Seen, Step
from conformance.ports import Capability

L = TypeVar("L")
M = TypeVar("M")
V = TypeVar("V")
LC = TypeVar("LC", contravariant=True)
VC = TypeVar("VC")
Ops = TypeVarTuple("Ops")
F = TypeVar("F", bound=Callable[..., Any])
NOTHING: frozenset[Capability] = frozenset()


@dataclass(frozen=True, slots=True)
class Property:
    """A named sentence about a component, and the check that decides it.

    `check(ledger, seen)` reads the ledger as it was before the operation. With `after_learning`, it reads the ledger
    after the ledger has learned from the operation.
    """

    slug: str
    statement: str
    component: str
    on: tuple[str, ...]
    """The keys of the steps after which it is judged: of some cases of a step, or of all."""
    check: Callable[[Any, Any], Judgement]
    kind: Kind = Kind.ALWAYS
    level: Level = Level.MUST
    invariant: str = ""
    """The number in the specification, as I-13."""
    tickets: tuple[str, ...] = ()
    needs: frozenset[Capability] = NOTHING
    after_learning: bool = False
    given: Callable[[Any], bool] | None = None
    """With `after_learning`: it has nothing to judge unless this says so of the ledger. Rules with the same condition
    that follow each other ask for it once."""
    quiet: bool = False
    """The driver judges it only while no operation is in flight, and after the ledger has learned."""
    signals: tuple[type[Any], ...] = ()
    """It is judged only after operations that emitted a signal of one of these types, once for each type; empty: after
    all."""
    struck: bool = False
    """It is judged only after operations that a fault has struck. No other rule is judged after those."""
    open_ended: bool = False
    """It is judged only after operations that were in flight when the task failed or was cancelled, and with `struck`
    after those of both kinds. No other rule is judged after them."""
    formerly: tuple[str, ...] = ()
    """Slugs that it had in earlier versions. Files that name one of them mean this property."""
    never: tuple[Never, ...] = ()
    """In which settings it cannot be judged although its steps are performed there, and why."""

    def __post_init__(self) -> None:
        if self.given is not None and not self.after_learning:
            raise ValueError(f"{self.slug} has a condition, so it must be judged after learning")

    def applies(self, capabilities: Iterable[Capability]) -> bool:
        """Returns whether an implementation that claims `capabilities` must have this property."""
        return self.needs <= frozenset(capabilities)

    def can_be_judged(self, where: Setting) -> bool:
        """Returns whether nothing says that it cannot be judged in this setting."""
        return not any(one.means(where) for one in self.never)

    def is_about(self, shape: str) -> bool:
        """Returns whether it can be judged in scenarios in which the component has this shape."""
        return Setting(shape=shape) not in [one.where for one in self.never]


@dataclass(frozen=True)
class Shared(Generic[LC, VC, *Ops]):
    """A rule of a model. It is declared once, and each component whose ledger has the model adopts it.

    The model is a class of `conformance/models`, or what a question returns that the rule asks each ledger."""

    check: Callable[[LC, Seen[VC, *Ops]], Judgement]
    invariant: str
    tickets: tuple[str, ...]
    quiet: bool
    struck: bool
    after_learning: bool
    signals: tuple[type[Any], ...]
    formerly: tuple[str, ...]


def shared(
    invariant: str = "",
    tickets: tuple[str, ...] = (),
    *,
    quiet: bool = False,
    struck: bool = False,
    after_learning: bool = False,
    signals: tuple[type[Any], ...] = (),
    formerly: tuple[str, ...] = (),
) -> Callable[[Callable[[LC, Seen[VC, *Ops]], Judgement]], Shared[LC, VC, *Ops]]:
    """Declare the rule of a model, for ledgers that have the model."""
    return lambda check: Shared(check, invariant, tickets, quiet, struck, after_learning, signals, formerly)


class Adopted(TypedDict, total=False):
    """What a component may say of a rule that it adopts, in place of what the rule says or besides."""

    slug: str
    statement: str
    invariant: str
    tickets: tuple[str, ...]
    needs: frozenset[Capability]
    formerly: tuple[str, ...]
    never: tuple[Never, ...]


class Stated(TypedDict, total=False):
    """What else is said of a rule without a function of its own."""

    invariant: str
    tickets: tuple[str, ...]
    needs: frozenset[Capability]
    after_learning: bool
    given: Callable[[Any], bool]
    signals: tuple[type[Any], ...]
    never: tuple[Never, ...]


class Rules(Generic[L]):
    """The rules of one module of a component in the order of declaration.

    The component lists those of all its modules. If an outcome breaks several, the first is reported."""

    def __init__(self, component: str, *given: Property) -> None:
        """`given`: properties that come before all declared ones, such as the rules that the driver judges itself."""
        self.component = component
        self.all: list[Property] = list(given)

    @overload
    def rule(
        self, *on: Step[L, V, *Ops], invariant: str = "", tickets: tuple[str, ...] = (),
        needs: frozenset[Capability] = NOTHING, quiet: bool = False, after_learning: bool = False,
        given: Callable[[L], bool] | None = None, signals: tuple[type[Any], ...] = (), struck: bool = False,
        open_ended: bool = False, formerly: tuple[str, ...] = (), never: tuple[Never, ...] = (),
    ) -> Callable[[Callable[[L, Seen[V, *Ops]], Judgement]], Callable[[L, Seen[V, *Ops]], Judgement]]: ...  # fmt: skip

    @overload
    def rule(
        self, *on: Step[L, V, *tuple[Any, ...]], invariant: str = "", tickets: tuple[str, ...] = (),
        needs: frozenset[Capability] = NOTHING, quiet: bool = False, after_learning: bool = False,
        given: Callable[[L], bool] | None = None, signals: tuple[type[Any], ...] = (), struck: bool = False,
        open_ended: bool = False, formerly: tuple[str, ...] = (), never: tuple[Never, ...] = (),
    ) -> Callable[[Callable[[L, Seen[V]], Judgement]], Callable[[L, Seen[V]], Judgement]]: ...  # fmt: skip

    @overload
    def rule(
        self, *on: Step[L, Any, *tuple[Any, ...]], invariant: str = "", tickets: tuple[str, ...] = (),
        needs: frozenset[Capability] = NOTHING, quiet: bool = False, after_learning: bool = False,
        given: Callable[[L], bool] | None = None, signals: tuple[type[Any], ...] = (), struck: bool = False,
        open_ended: bool = False, formerly: tuple[str, ...] = (), never: tuple[Never, ...] = (),
    ) -> Callable[[Callable[[L, Seen[object]], Judgement]], Callable[[L, Seen[object]], Judgement]]: ...  # fmt: skip

    def rule(self, *on: AnyStep, **rest: Any) -> Any:
        """Declare what must be true whenever one of these steps has ended.

        A rule may name steps with different operands if it does not read the operands, and steps with different types
        of results if it does not read the result.
        """
        return self._declare(on, **rest)

    @overload
    def goal(
        self,
        *on: Step[L, V, *Ops],
        needs: frozenset[Capability] = NOTHING,
        struck: bool = False,
        signals: tuple[type[Any], ...] = (),
        never: tuple[Never, ...] = (),
    ) -> Callable[[Callable[[L, Seen[V, *Ops]], bool]], Callable[[L, Seen[V, *Ops]], bool]]: ...

    @overload
    def goal(
        self,
        *on: Step[L, V, *tuple[Any, ...]],
        needs: frozenset[Capability] = NOTHING,
        struck: bool = False,
        signals: tuple[type[Any], ...] = (),
        never: tuple[Never, ...] = (),
    ) -> Callable[[Callable[[L, Seen[V]], bool]], Callable[[L, Seen[V]], bool]]: ...

    @overload
    def goal(
        self,
        *on: Step[L, Any, *tuple[Any, ...]],
        needs: frozenset[Capability] = NOTHING,
        struck: bool = False,
        signals: tuple[type[Any], ...] = (),
        never: tuple[Never, ...] = (),
    ) -> Callable[[Callable[[L, Seen[object]], bool]], Callable[[L, Seen[object]], bool]]: ...

    def goal(self, *on: AnyStep, needs: frozenset[Capability] = NOTHING, struck: bool = False,
             signals: tuple[type[Any], ...] = (), never: tuple[Never, ...] = ()) -> Any:  # fmt: skip
        """Declare a situation that a campaign must have seen. The check reads the ledger before it learns. With
        `struck`, it is looked for in the operations that a fault has struck, otherwise in all others. With `signals`,
        it is looked for in those that emitted a signal of one of these types."""
        return self._declare(on, needs=needs, kind=Kind.SOMETIMES, struck=struck, signals=signals, never=never)

    def sight(self, slug: str, statement: str, on: AnyStep | Sequence[AnyStep], check: Callable[[L, Seen[Any]], bool],
              needs: frozenset[Capability] = NOTHING, struck: bool = False,
              formerly: tuple[str, ...] = (), signals: tuple[type[Any], ...] = ()) -> None:  # fmt: skip
        """Declare a goal without a function of its own: one of several goals that differ only in a value."""
        steps = (on,) if isinstance(on, Step) else tuple(on)
        self._declare(
            steps, slug, statement, needs=needs, kind=Kind.SOMETIMES, struck=struck, formerly=formerly, signals=signals
        )(check)  # fmt: skip

    def stated(self, slug: str, statement: str, on: AnyStep | Sequence[AnyStep],
               check: Callable[[L, Seen[Any]], Judgement], **rest: Unpack[Stated]) -> None:  # fmt: skip
        """Declare a rule without a function of its own: one of several that differ only in what a ledger has found."""
        self._declare((on,) if isinstance(on, Step) else tuple(on), slug, statement, **rest)(check)

    @overload
    def adopt(self, one: Shared[L, V, *Ops], *on: Step[L, V, *Ops], **rest: Unpack[Adopted]) -> None: ...

    @overload
    def adopt(self, one: Shared[L, V], *on: Step[L, V, *tuple[Any, ...]], **rest: Unpack[Adopted]) -> None: ...

    @overload
    def adopt(self, one: Shared[L, object], *on: Step[L, Any, *tuple[Any, ...]], **rest: Unpack[Adopted]) -> None: ...

    @overload
    def adopt(
        self, one: Shared[M, V, *Ops], *on: Step[L, V, *Ops], of: Callable[[L], M], **rest: Unpack[Adopted]
    ) -> None: ...

    @overload
    def adopt(
        self, one: Shared[M, V], *on: Step[L, V, *tuple[Any, ...]], of: Callable[[L], M], **rest: Unpack[Adopted]
    ) -> None: ...

    @overload
    def adopt(
        self, one: Shared[M, object], *on: Step[L, Any, *tuple[Any, ...]], of: Callable[[L], M],
        **rest: Unpack[Adopted],
    ) -> None: ...  # fmt: skip

    def adopt(
        self, one: Shared[Any, Any, *tuple[Any, ...]], *on: AnyStep, of: Callable[[Any], Any] | None = None,
        slug: str = "", statement: str = "", invariant: str = "", tickets: tuple[str, ...] = (),
        formerly: tuple[str, ...] = (), **rest: Any,
    ) -> None:  # fmt: skip
        """Adopt the rule of a model for these steps. A component for which it means more gives it another slug.

        `of`: where the ledger has the model of the rule, or what it returns to its question; not needed for a rule of
        every ledger. It is called whenever the rule is judged, since a restored ledger may have a fresh model.
        """
        judge = one.check
        self._declare(
            on, slug or judge.__name__.replace("_", "-"), statement or judge.__doc__ or "",
            invariant=invariant or one.invariant, tickets=tickets or one.tickets, quiet=one.quiet, struck=one.struck,
            after_learning=one.after_learning, signals=one.signals,
            formerly=formerly if slug else (*one.formerly, *formerly), **rest,
        )(judge if of is None else lambda ledger, seen: judge(of(ledger), seen))  # fmt: skip

    def _declare(
        self, on: tuple[AnyStep, ...], slug: str = "", statement: str = "", **rest: Any
    ) -> Callable[[F], F]:  # fmt: skip
        def declare(check: F) -> F:
            sentence = " ".join((statement or check.__doc__ or "").split())
            name = slug or check.__name__.replace("_", "-")
            if not sentence:
                raise DocstringsNeeded(f"The rule {name} of {self.component} has no statement. {_CURE}")
            self.all.append(Property(name, sentence, self.component, tuple(step.key for step in on), check, **rest))
            return check

        return declare


class DocstringsNeeded(RuntimeError):
    """A rule has no docstring, which is its statement. Python may have removed it because of -OO."""


_CURE = "The docstring of a rule is its statement: write one for each rule, and run Python without -OO."
if DocstringsNeeded.__doc__ is None:  # raised at once, also if no component is imported yet
    raise DocstringsNeeded(_CURE)
