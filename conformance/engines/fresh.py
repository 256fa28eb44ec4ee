"""Replays a scenario in a new process, so that nothing of an earlier run can influence the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Components
from conformance.engines.apart import Apart
from conformance.engines.replay import ReplayVerdict, replay
from conformance.engines.worker import Ended
from conformance.ports import Capability, UnusableImplementation
from conformance.scenarios import Scenario


class Opinion(Struct, frozen=True):
    """The verdict of a replay in a fresh process."""

    verdict: str
    reason: str
    otherwise: bool = False
    """Whether another property fails there than the finding of the scenario says."""

    @property
    def confirms(self) -> bool:
        """Whether the scenario fails in the fresh process too, as its finding says."""
        return self.verdict == ReplayVerdict.FAILED.value and not self.otherwise

    @property
    def told(self) -> str:
        """What became of a scenario that the opinion does not confirm, as a clause."""
        return "the scenario failed in another way" if self.otherwise else "the scenario did not fail"


def in_fresh_process(
    scenario: Scenario, implementation: str, assume: Iterable[Capability] = (), components: Components = COMPONENTS
) -> Opinion:
    """Replay a scenario and its finding in a fresh process, under the usual limits, on the implementation of this name.

    If the implementation cannot be made there, the opinion confirms nothing, and its reason says why.
    """
    try:
        with closing(Apart(implementation, components=components)) as apart:
            seen = replay(scenario, apart, assume, components)
    except (UnusableImplementation, Ended) as error:
        return Opinion("UNKNOWN", str(error))
    failed, finding = seen.violation, scenario.finding
    meant = None if finding is None else components[scenario.component].meant(finding.property)
    otherwise = failed is not None and meant is not None and failed.property not in meant
    return Opinion(seen.verdict.value, seen.reason, otherwise)
