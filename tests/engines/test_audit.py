"""One scenario in twenty runs twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from typing import Any

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program, run_scenario
from conformance.engines import Search, check
from conformance.engines.audit import audit, is_audited, unlike
from conformance.engines.patient import Patient
from conformance.engines.search import seeds
from conformance.ports import Capability, Resources, find_implementation
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.network.subpartition import Subpartition
from tests.implementations import with_parts


class Counts(Subpartition):
    """Says how often it was asked, over all its lives."""

    asked = 0

    def resources(self) -> Resources:
        type(self).asked += 1
        return Resources(segments=type(self).asked)


def without_resources(part: type[Subpartition]) -> Reference:
    made = with_parts("audit", subpartition=part)
    kept = made.capabilities - {Capability.RESOURCES}
    modest: type[Reference] = type("Modest", (type(made),), {"capabilities": kept})
    return modest(made.name, made.design)


def test_about_one_in_twenty_is_audited_whatever_the_machine():
    chosen = [text for text in seeds(0, "gate", range(10_000)) if is_audited(text)]
    assert 400 < len(chosen) < 600
    assert chosen[:3] == ["0/gate/34", "0/gate/41", "0/gate/81"]


def test_the_references_return_the_same():
    program = Program(COMPONENTS["gate"], find_implementation("reference"))
    search = Search(program)
    for text in seeds("audit", "gate", range(60)):
        assert audit(program, *search.run(text, record=True)) is None


def test_an_implementation_that_is_not_deterministic_is_a_finding_though_no_property_fails():
    program = Program(COMPONENTS["subpartition"], without_resources(Counts))
    result = check(program, 400, "audit")
    (found,) = result.found
    assert found.signature == (ANSWERS, "protocol", "replay")
    assert "(resources) differs in value" in found.observed


class OnItsOwn(Reference):
    """A job whose threads work on their own, in another order each time."""

    orders = count()

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities - {Capability.JOB_STEPS}

    def components(self) -> Mapping[str, Callable[[Any], Any]]:
        return {"pipeline": self._disorderly}

    def _disorderly(self, config: Any) -> Any:
        port: Any = super().components()["pipeline"](config)
        port.random = Random(f"order {next(self.orders)}")
        return port


def test_a_job_whose_threads_work_on_their_own_need_not_repeat_itself():
    program = Program(COMPONENTS["pipeline"], OnItsOwn("on its own", PUSHED))
    search = Search(program)
    differs = 0
    for text in seeds("audit", "pipeline", range(12)):
        scenario, run = search.run(text, record=True)
        assert run.violation is None
        assert audit(program, scenario, run) is None
        differs += unlike(run, run_scenario(program, scenario.config, scenario.steps, record=True)) is not None
    assert differs
    patient = Patient(program, lambda: OnItsOwn("on its own", PUSHED))
    assert [one.found for one in patient.examine() if one.wrong] == []


def test_what_fails_only_once_is_reported():
    program = Program(COMPONENTS["subpartition"], find_implementation("known-bug:B-01"))
    search = Search(program)
    text, (scenario, run) = next(
        (text, found)
        for text in seeds("audit", "subpartition", range(500))
        if (found := search.run(text, record=True))[1].violation is not None
    )
    assert audit(program, scenario, run) is None
    fixed = Program(COMPONENTS["subpartition"], find_implementation("reference"))
    difference = audit(fixed, scenario, run)
    assert difference is not None, text
    assert "failed, in the other no property" in difference[1].observed or "differs in" in difference[1].observed
