"""The two records that all rooms of the suite exchange: scenarios and histories."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from conformance.ports import Outcome

SCHEMA: Final = 3
"""The version of the JSON form that the suite writes. It reads schemas 1 and 2 of scenarios too (`former`)."""

MOST_STEPS = 10_000
"""How many steps a scenario that is read from a file may have. Those of a search have up to 100, and long ones, of many
lives, up to a few thousand. A run takes time and memory for each of them."""
MOST_SCENARIO_BYTES = 4 << 20
"""How large the file of a scenario may be: ten times as large as one of the longest scenarios."""

Step: TypeAlias = tuple[Any, ...]
"""The name of a step and its operands, as `("unaligned_barrier", 3)`. Operands are absolute values, never indexes into
what is enabled."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """The violation that a scenario shows: the property that failed, the failure class, and the implementation."""

    property: str
    failure_class: str
    implementation: str = ""
    ticket: str = ""
    """The ticket for which the scenario was put into a corpus; empty if it was not."""


class Scenario(Struct, frozen=True):
    """A component, its configuration and a list of steps.

    A run skips a step that is not enabled when its turn comes, so any part of a scenario is a scenario too. `config` is
    the frozen struct that the component declares.
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
    """A scenario and what was observed at each of its steps and at each step of the fair drain that ends every run."""

    scenario: Scenario
    entries: tuple[Entry, ...]


class Vocabulary(Protocol):
    """What the codec must know to read a scenario: the components, and the form of their steps."""

    def config_type(self, component: str) -> type[Struct]:
        """Returns the type of the configuration of a component. Raises: KeyError with a text if there is none."""

    def complaint(self, component: str, step: Step) -> str | None:
        """Returns a text that says what is wrong with the form of a step, or None if the form is right."""
