"""Finds out what an implementation does wrong as an adapter, in the order in which a person would fix it.

The doctor does not search for bugs. It examines what a search assumes: that the factory makes ports, that every
operation returns what its interface allows, that a fresh port has no old state, and that the same calls have the
same outcomes, in one message or step by step. If something is wrong, the doctor skips what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter

from conformance.components import COMPONENTS
from conformance.driver import Component, Program
from conformance.engines.calls import in_use, perform, unsaid
from conformance.engines.patient import Patient
from conformance.ports import (
    Capability,
    Examined,
    Implementation,
    UnusableImplementation,
    offered_components,
)

Say = Callable[[str], None]
"""Is called with what is done now. Nothing: the suite itself is at work, or an implementation is started."""


def examine(
    make: Callable[[], Implementation], components: Mapping[str, Component] = COMPONENTS, say: Say = unsaid
) -> Iterator[Examined]:
    """Yields the results of all examinations in order. It calls `make` again when it needs a fresh implementation.

    `say` is called with what is done with the implementation, before it is done.

    Raises: UnusableImplementation if the implementation cannot be started.
    """
    with in_use(make, say) as implementation:
        yield from _examine(implementation, make, components, say)


def _examine(
    implementation: Implementation, make: Callable[[], Implementation], known: Mapping[str, Component], say: Say
) -> Iterator[Examined]:
    say("when it said its name and what it offers")
    started = perf_counter()
    about = _about(implementation)
    seconds = perf_counter() - started
    wrong = False
    for one in implementation.examine():
        wrong = wrong or one.wrong
        yield one
    try:
        offered = offered_components(implementation)
    except UnusableImplementation as error:
        if not wrong:
            yield Examined("what it offers", str(error), "Correct what `components` and `capabilities` return.")
        return
    components = [one for one in known if one in offered]
    yield Examined(
        "start", f"{about} returned after {seconds:.2f} s. Components: {', '.join(components) or 'none'}. "
        f"Capabilities: {', '.join(sorted(implementation.capabilities)) or 'none'}.", noted=True,
    )  # fmt: skip
    if unknown := sorted(set(map(str, offered)) - set(known)):
        found = f"It offers components that this suite does not know: {', '.join(unknown)}."
        yield Examined("components", found, f"Correct the names. The suite knows {', '.join(known)}.")
    if not components:
        if not (wrong or unknown):
            yield Examined("components", "It offers no component.", f"Offer at least one of {', '.join(known)}.")
        return
    healthy: list[Patient] = []
    for component in components:
        patient = Patient(Program(known[component], implementation), make, say)
        yield from patient.examine()
        if not patient.wrong:
            healthy.append(patient)
    yield from _elsewhere(healthy, make, say)
    yield from _claims(implementation, healthy, all_healthy=len(healthy) == len(components))
    yield from _speed(healthy)


def _about(implementation: Implementation) -> str:
    """Returns its name and version. Raises: UnusableImplementation."""
    try:
        name, version = implementation.name, implementation.version
    except UnusableImplementation:
        raise
    except Exception as error:
        raise UnusableImplementation(
            f"{type(implementation).__name__} cannot say its name and version: {type(error).__name__}: {error}. Give "
            "it the attributes `name` and `version`."
        ) from error
    return f"{name} {version}".rstrip()


def _elsewhere(patients: list[Patient], make: Callable[[], Implementation], say: Say) -> Iterator[Examined]:
    """Perform the same calls on a second implementation that was started anew: no outcome may depend on the process."""
    patients = [one for one in patients if one.repeats]
    if not patients:
        return
    with in_use(make, say) as other:
        for patient in patients:
            component = patient.component.name
            again = perform(patient.component, other.components()[component], patient.scenarios[0], say)
            if difference := patient.difference(patient.histories[0], again):
                yield Examined(
                    f"{component}: another start", f"After a second start, it had other outcomes. {difference}",
                    "An outcome must depend on the calls alone: no clock, no random number, no order of a hash table.",
                )  # fmt: skip
                return
    yield Examined("another start", "After a second start, the same calls have the same outcomes.")


def _claims(implementation: Implementation, patients: list[Patient], all_healthy: bool) -> Iterator[Examined]:
    """Yields findings about capabilities that are claimed and never used, or there and not claimed."""
    if not patients:
        return
    claimed = implementation.capabilities
    if Capability.RESOURCES in claimed and all_healthy and not any(one.counts_resources for one in patients):
        yield Examined(
            "capabilities", "It claims `resources`, but `resources` never returned a count.",
            "Return counts (0 is a count), or do not claim `resources`.",
        )  # fmt: skip
    armed = [one for patient in patients for one in patient.faults_armed]
    if Capability.FAULTS in claimed and armed and not any(armed):
        yield Examined(
            "capabilities", f"It claims `faults`, but `fault` returned false to each of {len(armed)} faults.",
            "Let what is called fail where the interface says that it can, or do not claim `faults`.",
        )  # fmt: skip
    seems: dict[Capability, str] = {}
    for patient in patients:
        for one in patient.unclaimed():
            seems.setdefault(one, patient.component.name)
    for one, component in seems.items():
        yield Examined(
            "capabilities", f"It seems to have `{one}`, and does not claim it: a scenario of {component} breaks a "
            "property, and with this capability it breaks none.", f"Claim `{one}`, if it has it.",
        )  # fmt: skip


def _speed(patients: list[Patient]) -> Iterator[Examined]:
    calls, seconds = sum(one.calls for one in patients), sum(one.seconds for one in patients)
    if not calls or not seconds:
        return
    scenarios = sum(len(one.scenarios) for one in patients)
    found = f"Step by step: {1e6 * seconds / calls:,.0f} µs for a call, {scenarios / seconds:,.0f} scenarios a second."
    batch = sum(one.batch_seconds for one in patients)
    if batch:
        found += f" In one message: {sum(one.batches for one in patients) / batch:,.0f} scenarios a second."
    yield Examined("speed", found, noted=True)
