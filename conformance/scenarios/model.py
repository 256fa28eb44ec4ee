"""The two records the whole suite passes around."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from conformance.ports import Outcome

SCHEMA = 2
"""The version of the JSON form of scenarios and histories that is written. Schema 1 is read too (`former`)."""

Step: TypeAlias = tuple[Any, ...]
"""The name of a step, then absolute operands: `("unaligned_barrier", 3)`. Never "the k-th enabled one"."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """What a scenario is evidence of: the property that failed, in which class, on whom."""

    property: str
    failure_class: str
    implementation: str = ""


class Scenario(Struct, frozen=True):
    """A component, its configuration and a list of steps.

    Semantics are total: a step that is not enabled when its turn comes is skipped, so any part of a scenario is a
    scenario. `config` is the frozen struct that the component declares.
    """

    component: str
    config: Any
    steps: tuple[Step, ...]
    finding: Finding | None = None


class Entry(Struct, frozen=True):
    """One step of a history. `outcome` is None if the step was skipped; `closing` marks steps of the fair drain."""

    step: Step
    outcome: Outcome | None
    closing: bool = False


class History(Struct, frozen=True):
    """A scenario and what was observed at each of its steps, then the fair drain that ends every run."""

    scenario: Scenario
    entries: tuple[Entry, ...]


class Vocabulary(Protocol):
    """What is needed to read a scenario: which components there are, and what their steps look like."""

    def config_type(self, component: str) -> type[Struct]:
        """The configuration of a component. Raises KeyError with a sentence if there is no such component."""

    def complaint(self, component: str, step: Step) -> str | None:
        """What is wrong with the form of a step, in words; None if it can be read."""
