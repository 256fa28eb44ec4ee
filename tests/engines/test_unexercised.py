"""Why a property was not exercised: each reason, with an implementation of which it is true."""

from __future__ import annotations

import pytest

from conformance.cli import main
from conformance.components import COMPONENTS
from conformance.driver import Component, Program, Property, Setting
from conformance.engines.check import search_range
from conformance.engines.unexercised import Explanation, Limited, Reason, Share, explanation, share
from conformance.ports import Capability, Implementation, find_implementation
from conformance.reporting import explanation_lines

GATE, SUBPARTITION = COMPONENTS["gate"], COMPONENTS["subpartition"]
WAITING = "every-operation-ends"
FEW = 60


def of(component: Component, slug: str) -> Property:
    (found,) = component.meant(slug)
    return found


class Silent(Implementation):
    """A subpartition whose polls return nothing, as an adapter does that forgot to return."""

    name = "silent"

    def __init__(self) -> None:
        self._whole = find_implementation("reference")

    @property
    def capabilities(self):
        return self._whole.capabilities

    def components(self):
        def make(config):
            port = self._whole.components()["subpartition"](config)
            port.poll = lambda: None  # type: ignore[attr-defined]
            return port

        return {"subpartition": make}


def explained(component, judged: Property, implementation: Implementation, scenarios: int = FEW) -> Explanation:
    def tally(one):
        program = Program(component, one)
        return program, search_range(program, "why", range(scenarios))

    reference = find_implementation("reference")
    program, mine = tally(implementation)
    alike = share(judged, "alike", tally(Limited(reference, implementation.capabilities))[1])
    whole = share(judged, "whole", tally(reference)[1])
    return explanation(judged, program, mine, alike, whole, reference.capabilities - implementation.capabilities)


def test_what_was_exercised_needs_no_explanation():
    told = explained(SUBPARTITION, SUBPARTITION.properties[1], find_implementation("reference"))
    assert told.reason is Reason.EXERCISED
    assert "It was exercised, in" in explanation_lines(told)[-1]


def test_a_capability_that_it_needs():
    judged = next(one for one in GATE.properties if Capability.RECOVERS_BY_PUSHING in one.needs)
    told = explained(GATE, judged, Limited(find_implementation("reference"), {Capability.RESOURCES}), 5)
    assert told.reason is Reason.NOT_APPLICABLE
    assert Capability.RECOVERS_BY_PUSHING in told.missing
    assert "--assume recover-by-pushing" in explanation_lines(told)[-1]


def test_a_capability_without_which_there_is_nothing_to_judge():
    reference = find_implementation("reference")
    further = (Capability.RECOVERS_BY_PUSHING, Capability.STEPPING)
    told = explained(GATE, of(GATE, WAITING), Limited(reference, reference.capabilities - {*further}))
    assert told.reason is Reason.CAPABILITY
    assert told.further == further
    assert explanation_lines(told)[-1].endswith("The reference also claims recover-by-pushing, stepping.")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((), "1 scenario did. The"),
        (
            (Setting("pushed", interleaving="fine"), Setting("in-memory", interleaving="fine")),
            ", all in the setting fine.",
        ),
        ((Setting("pushed"), Setting("in-memory")), "1 scenario did. The"),
    ],
)
def test_it_says_what_the_settings_have_in_common(settings, said):
    judged = of(GATE, WAITING)
    nothing, something = Share("", 9, 0, {}, 0, 0, ()), Share("", 9, 1, {}, 1, 0, settings)
    told = Explanation(judged, Reason.CAPABILITY, (), (), nothing, nothing, something)
    assert said in explanation_lines(told)[-1]


def test_what_was_always_unsure_has_a_reason():
    mine = Share("", 9, 0, {"poll": 3}, 0, 3, (), ("another operation overlapped the take",))
    told = Explanation(of(GATE, WAITING), Reason.UNSURE, (), (), mine, None, None)
    assert (
        "more than one outcome may have been right: another operation overlapped the take. Try"
        in (explanation_lines(told)[-1])
    )


def test_an_adapter_that_never_has_anything_to_judge():
    judged = of(SUBPARTITION, "the-next-data-type-is-that-of-the-next-element")
    told = explained(SUBPARTITION, judged, Silent())
    assert told.reason is Reason.NO_CASE
    assert told.mine.steps["poll"] > 10
    assert told.alike is not None
    assert told.alike.exercised > 0
    assert explanation_lines(told)[-1].startswith("Why: The adapter. It performed")


def test_an_adapter_whose_outcomes_never_allow_the_steps():
    judged = of(SUBPARTITION, "failed-and-restored-with-output-state")
    told = explained(SUBPARTITION, judged, Silent())
    assert told.reason is Reason.NO_STEP
    assert told.mine.steps == {"restore": 0}
    assert explanation_lines(told)[-1].startswith("Why: The adapter. None of these steps")


def test_too_few_scenarios():
    told = explained(GATE, of(GATE, WAITING), find_implementation("reference"), 0)
    assert told.reason is Reason.TOO_FEW
    assert "--scenarios 10, or another --seed" in explanation_lines(told)[-1]


def test_the_command_explains_each_component_that_has_the_property(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", WAITING, "--scenarios", "5", "--component", "gate", "--component", "writer"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert (
        f"gate: {WAITING}\n  An operation that has begun ends once everything that it may wait for has\n  hap" in told
    )
    assert f"writer: {WAITING}\n" in told
    assert told.count("Why: ") == 2
    assert "(b) reference with the same capabilities" in told


def test_the_command_names_what_is_near_a_property_that_is_not_there(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", "every-operation-end"])
    assert ended.value.code == 2
    assert f"Near: {WAITING}" in capsys.readouterr().err


def test_the_command_says_which_components_have_a_property_that_this_one_has_not(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", WAITING, "--component", "deque", "--component", "persister"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"deque, persister: no property {WAITING!r}. It is one of remote-channel, gate, " in said
