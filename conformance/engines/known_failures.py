"""Reads the list of known failures. The suite reports an entry that no longer fails, just like a new failure.

```toml
[[failure]]
property = "priority-events-leave-with-and-without-credit"
component = "subpartition"
class = "stuck"
ticket = "FLINK-40519"
reason = "a blocked subpartition delivers priority events, but is not available for them"
scenario = "flink-40519-availability.json"      # beside this file, or in a folder below
implementation = "flink-component@2.3.0"  # optional: for this one only
```

The suite replays the scenario of each entry, which must still fail with that property and class. A failure that a
search found is known if it has the signature with which the scenario fails now. In a job whose threads work on their
own a failure need not show each time, so there it must fail once in a few runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct
from msgspec.structs import fields

from conformance.components import COMPONENTS
from conformance.driver import Component, Components, FailureClass, Program, Property
from conformance.engines.check import Found
from conformance.engines.replay import Replay, ReplayVerdict, read_scenario, replay
from conformance.engines.tally import Signature
from conformance.ports import Capability, Implementation
from conformance.scenarios import Scenario, SchemaError, read_toml
from conformance.scenarios.former_gates import component_as_of_today
from conformance.system.files import is_inside

MOST_RUNS = 5
"""How often a scenario is run that need not have the same outcome each time, until it fails as it is recorded."""


class _Entry(Struct, frozen=True, forbid_unknown_fields=True, rename={"failure_class": "class"}):
    property: str
    component: str
    failure_class: FailureClass
    ticket: str
    reason: str
    scenario: str
    implementation: str | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    failure: tuple[_Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """One entry of the list, with its scenario read."""

    property: str
    component: str
    failure_class: FailureClass
    ticket: str
    reason: str
    scenario: Scenario
    implementation: str | None

    def concerns(self, name: str, component: str) -> bool:
        """Returns whether it is about this component of the implementation that the user asked for by this name."""
        return self.component == component and self.implementation in (None, name)

    def signatures(
        self, implementation: Implementation, assume: Iterable[Capability] = (),
        components: Mapping[str, Component] = COMPONENTS,
    ) -> tuple[Signature, ...] | None:  # fmt: skip
        """Returns the signatures with which its scenario fails now; empty if it no longer fails as it is recorded, None
        if the implementation cannot run it, or does not claim what the property needs.

        If the entry has the slug of an earlier property that was split since, it counts for each of the new properties.
        """
        meant = components[self.component].meant(self.property)
        if not any(one.applies(implementation.capabilities | frozenset(assume)) for one in meant):
            return None
        for _ in range(MOST_RUNS):
            found = self._shown_by(replay(self.scenario, implementation, assume, components), meant)
            if found is None or found or Program(components[self.component], implementation, assume).repeats:
                return found
        return ()

    def _shown_by(self, replayed: Replay, meant: Iterable[Property]) -> tuple[Signature, ...] | None:
        if replayed.verdict is ReplayVerdict.NOT_APPLICABLE:
            return None
        violation = replayed.violation
        if violation is None or violation.property not in meant:
            return ()
        if violation.broken.failure_class is not self.failure_class:
            return ()
        _, failure_class, operation = violation.signature
        return tuple((one.slug, failure_class, operation) for one in meant)


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of replaying a list of known failures on one implementation."""

    known: Mapping[tuple[str, Signature], KnownFailure]
    """The components and signatures with which the implementation is known to fail."""
    fixed: tuple[KnownFailure, ...]
    """Entries whose scenario no longer fails as it is recorded."""
    failing: tuple[KnownFailure, ...] = ()
    """Entries whose scenario still fails as it is recorded."""
    inapplicable: tuple[KnownFailure, ...] = ()
    """Entries that do not say which implementation they are about, and that cannot be about this one: it cannot run the
    scenario, or does not claim what the property needs."""

    def entry(self, found: Found) -> KnownFailure | None:
        """Returns the entry that a finding belongs to, or None if it is a new one."""
        return self.known.get((found.scenario.component, found.signature))


def standing(
    entries: Iterable[KnownFailure], name: str, implementation: Implementation, components: Iterable[str],
    assume: Iterable[Capability] = (), known_components: Mapping[str, Component] = COMPONENTS,
) -> Standing:  # fmt: skip
    """Replay the entries that concern these components of the implementation that the user asked for as `name`."""
    known: dict[tuple[str, Signature], KnownFailure] = {}
    fixed: list[KnownFailure] = []
    failing: list[KnownFailure] = []
    inapplicable: list[KnownFailure] = []
    for component in components:
        for entry in entries:
            if entry.concerns(name, component):
                signatures = entry.signatures(implementation, assume, known_components)
                known.update({(component, one): entry for one in signatures or ()})
                of_others = signatures is None and entry.implementation is None
                (inapplicable if of_others else failing if signatures else fixed).append(entry)
    return Standing(known, tuple(fixed), tuple(failing), tuple(inapplicable))


def load_known_failures(path: Path, components: Components = COMPONENTS) -> tuple[KnownFailure, ...]:
    """Read a list. Raises: SchemaError for a wrong file, an unknown property, or a scenario that cannot be read."""
    names = ", ".join(one.encode_name for one in fields(_Entry))
    file = read_toml(path, _File, f"each entry begins with [[failure]]; its fields are {names}")
    return tuple(_known(path, number, entry, components) for number, entry in enumerate(file.failure, start=1))


def _known(path: Path, number: int, entry: _Entry, components: Components) -> KnownFailure:
    component = component_as_of_today(entry.component)
    if component not in components or not components[component].meant(entry.property):
        raise SchemaError(f"{path}, failure {number}: there is no property {entry.property!r} of {entry.component!r}")
    file = path.parent / entry.scenario
    if not is_inside(file, path.parent):
        raise SchemaError(
            f"{path}, failure {number}, field scenario: {entry.scenario!r} leads out of the folder of the list; put "
            "the scenario beside the list or in a folder below, and name it from there"
        )
    try:
        if not file.is_file():  # what a device or a pipe holds may have no end
            raise SchemaError(f"{path}, failure {number}: its scenario {file} cannot be read: there is no such file")
        scenario = read_scenario(file, components)
    except OSError as error:
        raise SchemaError(f"{path}, failure {number}: its scenario {file} cannot be read: {error.strerror}") from None
    if scenario.component != component:
        raise SchemaError(
            f"{path}, failure {number}, field scenario: {entry.scenario!r} is a scenario of {scenario.component!r}, "
            f"and the entry is about {component!r}"
        )
    return KnownFailure(
        entry.property,
        component,
        entry.failure_class,
        entry.ticket,
        entry.reason,
        scenario,
        entry.implementation,
    )
