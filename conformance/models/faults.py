"""Faults: which call fails, because the scenario says so, and what must be true of the operation in which it fails.

A fault is armed by a step, which says how many calls come before at its place. It strikes one operation. Rules of the
component say what is true afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from conformance.driver import (
    NEXT_CALL,
    Broken,
    FailureClass,
    Faults,
    Judgement,
    PortLedger,
    Rules,
    Seen,
    Step,
    Steps,
    shared,
)
from conformance.models.answers import whether
from conformance.models.designs import FAULTS, NOTHING
from conformance.models.fault_words import call_at
from conformance.models.words import must_succeed
from conformance.ports import Answer, Capability, ErrorKind, FaultKind, FaultStruck, Places, Port


class WithFaults(Struct, frozen=True, forbid_unknown_fields=True):
    """What the configuration of a scenario says about faults, in a last field `faults: bool = False`: whether what the
    component calls can fail.

    The field is not declared here, because it would come first, and a keyword field would not pass between processes.
    """

    if TYPE_CHECKING:

        @property
        def faults(self) -> bool:
            """Returns whether what the component calls can fail."""

    def needs_for_faults(self) -> frozenset[Capability]:
        """Returns what an implementation must claim before a scenario can have the faults."""
        return FAULTS if self.faults else NOTHING

    def can_fail(self, port: type[Port], fine: bool = False) -> Places:
        """Returns what can fail, of all that this port calls. Only `fine` scenarios distinguish slow calls."""
        if not self.faults:
            return {}
        if fine:
            return port.can_fail
        return {
            place: tuple(kind for kind in kinds if kind is not FaultKind.SLOW) for place, kinds in port.can_fail.items()
        }


P = TypeVar("P", bound=Port)
L = TypeVar("L", bound=PortLedger)


def _possible(ledger: PortLedger) -> Sequence[tuple[str, str]]:
    return ledger.faults.possible()


def fault_step(
    steps: Steps[P, L], during: tuple[str, ...], weight: int = 1,
    when: Callable[[L], Sequence[tuple[str, str]]] = _possible, armed: Callable[[L, str], None] | None = None,
    once: tuple[str, ...] = (),
) -> Step[L, bool, str, str, int]:  # fmt: skip
    """Returns the step in which the driver arms a fault. `when`: those of the possible ones that can strike now.
    `armed`: what else the ledger notes of the place. `once`: the places that a port calls once, so that no later call
    can fail there. An implementation that cannot let it fail is not asked again."""

    def possible(ledger: L) -> Sequence[tuple[str, str, int]]:
        calls = ledger.faults.calls
        return [
            (place, kind, nth)
            for place, kind in when(ledger)
            for nth in (NEXT_CALL if place in once else calls(place, kind))
        ]

    def arm(ledger: L, seen: Seen[bool], place: str, kind: str, nth: int) -> None:
        if not seen.value:
            ledger.faults.leave_out(place, kind, nth)
            return
        ledger.faults.arm(place, FaultKind(kind), nth)
        if armed is not None:
            armed(ledger, place)

    @steps.step("driver", during, when=possible, learn=arm, weight=weight, in_words=whether("armed", "cannot be armed"))
    def fault(port: P, ledger: L, place: str, kind: str, nth: int) -> Answer[bool]:
        return port.fault(place, FaultKind(kind), nth)

    return fault


_STRUCK = {
    FaultKind.THROWS: ("failed", "A call failed"),
    FaultKind.REFUSES: ("was-refused", "A call was refused"),
    FaultKind.ENDS: ("failed-for-good", "A call failed for good"),
}


def struck_by(seen: Seen[Any, *tuple[Any, ...]]) -> FaultStruck:
    """Returns the fault that has struck the operation first."""
    return next(one for one in seen.signals if type(one) is FaultStruck)


def see_strikes(
    rules: Rules[L], places: Places, *on: Step[L, Any, *tuple[Any, ...]], needs: frozenset[Capability] = FAULTS
) -> None:
    """Declares a goal for each fault at these places: it has struck one of these steps."""

    def sees(place: str, kind: FaultKind) -> Callable[[L, Seen[Any]], bool]:
        def check(ledger: L, seen: Seen[Any]) -> bool:
            return FaultStruck(place, kind) in seen.signals

        return check

    for place, kinds in places.items():
        for kind in kinds:
            if kind in _STRUCK:
                slug, words = _STRUCK[kind]
                rules.sight(
                    f"at-the-{place}-a-call-{slug}", f"{words} at the place {place}.", on, sees(place, kind),
                    needs=needs, struck=True,
                )  # fmt: skip


def see_later_strikes(rules: Rules[L], *on: Step[L, Any, *tuple[Any, ...]]) -> None:
    """Declares a goal: a fault has struck one of these steps, at a later call than the next one."""

    def check(ledger: L, seen: Seen[Any]) -> bool:
        return any(type(one) is FaultStruck and one.place in ledger.faults.later for one in seen.signals)

    rules.sight(
        "a-later-call-failed", "A call failed that was not the next one at its place when the fault was armed.", on,
        check, needs=FAULTS, struck=True,
    )  # fmt: skip


def struck_again(faults: Faults, struck: FaultStruck) -> Broken | None:
    """Returns what is wrong if no such fault was armed: a fault strikes once. None: it was armed."""
    if struck.place in faults.armed:
        return None
    return Broken(
        FailureClass.PROTOCOL, "a fault strikes once, where it was armed", f"{call_at(struck.place)} failed again"
    )


@shared("I-90", struck=True)
def an_operation_fails_with_what_it_calls(ledger: PortLedger, seen: Seen[object]) -> Judgement:
    """If what an operation calls fails, the operation fails too, with an error of kind io, so that the task fails. A
    refusal is not a failure."""
    struck = struck_by(seen)
    if (again := struck_again(ledger.faults, struck)) is not None:
        return again
    if struck.kind is FaultKind.REFUSES or ledger.may_keep(struck.place):
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.IO:
        return True
    owed = f"{call_at(struck.place)} failed in this operation, so the operation must fail with an error of kind io"
    observed = "it succeeded" if seen.error is None else f"it failed with an error of kind {seen.error.kind.value}"
    return Broken(FailureClass.PROTOCOL, owed, observed)


@shared("I-90", struck=True, formerly=("what-only-refuses-is-no-error",))
def a_refusal_is_not_a_failure(ledger: object, seen: Seen[object]) -> Judgement:
    """If what an operation asks for cannot be had yet, the operation fails with no error, since it can ask again."""
    if struck_by(seen).kind is not FaultKind.REFUSES:
        return False
    return must_succeed(seen.error, "what was asked for is not there yet: the operation must not fail")
