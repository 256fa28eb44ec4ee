"""State assignments that do not return."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from conformance.ports import Assigned, Capability, Implementation
from conformance.ports.implementation import Factory
from reference_impl.rescale.assignment import Assignment


class Hanging(Implementation):
    """Has a state assignment that does something else than to return."""

    name = "hanging"

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.OUTPUT_RECOVERED_DOWNSTREAM})

    def components(self) -> Mapping[str, Factory]:
        act = self.act

        class Ending(Assignment):
            def assign(self) -> tuple[Assigned, ...]:
                act()
                return super().assign()

        return {"assignment": Ending}


def forever() -> None:
    while True:
        pass


exits, hangs = Hanging(lambda: os._exit(3)), Hanging(forever)
