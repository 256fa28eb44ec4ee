"""One step has several cases: the ledger says which one an operation is, and each is drawn and judged by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conformance.components import COMPONENTS
from conformance.driver import (
    ANSWERS,
    DISABLED,
    NO_OPERANDS,
    Broken,
    Component,
    Drain,
    FailureClass,
    Judgement,
    Program,
    Rules,
    Seen,
    Steps,
    World,
    answers_property,
    run_scenario,
)
from conformance.engines.search import Search, tables
from conformance.engines.simpler import Ranking
from conformance.engines.tally import Counter
from conformance.models.lifetime import fail_step
from conformance.ports import Answer, ErrorKind, PortError, find_implementation
from conformance.scenarios import Scenario
from tests.components import counter
from tests.components.counter import CounterPort, Counting, Ledger

STEPS = Steps[CounterPort, Ledger]()


def some(ledger: Ledger) -> Sequence[tuple[()]]:
    return NO_OPERANDS if ledger.added else DISABLED


def none(ledger: Ledger) -> Sequence[tuple[()]]:
    return DISABLED if ledger.added else NO_OPERANDS


@STEPS.step("producer", ("live",), when=counter.amounts, end=Ledger.add, weight=16)
def add(port: CounterPort, ledger: Ledger, amount: int) -> Answer[None]:
    return port.add(amount)


@STEPS.step("producer", ("live",), when=some, learn=Ledger.take_back)
def take_back(port: CounterPort, ledger: Ledger) -> Answer[int | None]:
    return port.take_back()


take_back_nothing = take_back.also("nothing is left", ("live",), when=none, weight=3, fails=True)
take_back_late = take_back.also("after the end", ("failed",), when=lambda ledger: NO_OPERANDS, weight=2, fails=True)
fail = fail_step(STEPS, ("live",))
RULES = Rules[Ledger]("counter", answers_property("counter"))


@RULES.rule(take_back)
def what_is_taken_back_was_added_last(ledger: Ledger, seen: Seen[int | None]) -> Judgement:
    """Taking back returns the amount that was added last."""
    return True if seen.value == ledger.added[-1] else Broken(FailureClass.LOST, "the last", str(seen.value))


@RULES.rule(take_back_nothing, take_back_late)
def nothing_cannot_be_taken_back(ledger: Ledger, seen: Seen[int | None]) -> Judgement:
    """Taking back fails if there is nothing to take back."""
    return True if seen.error is not None else Broken(FailureClass.PROTOCOL, "an error", str(seen.value))


@RULES.goal(take_back, take_back_late)
def it_was_taken_back_at_the_end(ledger: Ledger, seen: Seen[int | None]) -> bool:
    """At the end."""
    return ledger.failed


COMPONENT = replace(counter.COUNTER, steps=tuple(STEPS.all), properties=tuple(RULES.all), drain=Drain[Ledger]())


class Refusing(counter.Counter):
    """Taking back fails if nothing is left."""

    def take_back(self) -> int | None:
        if not self.amounts:
            raise PortError(ErrorKind.STATE, "nothing is left")
        return super().take_back()


def ready(kind: type[counter.Counter] = Refusing, component: Component = COMPONENT) -> Program:
    return Program(component, Counting(kind))


def test_the_cases_of_a_step_have_one_name_and_keys_of_their_own():
    assert [(one.name, one.key) for one in STEPS.all][1:4] == [
        ("take_back", "take_back"),
        ("take_back", "take_back (nothing is left)"),
        ("take_back", "take_back (after the end)"),
    ]
    assert take_back_late() == ("take_back",)
    assert take_back_late.call is take_back.call
    assert COMPONENT.step("take_back") is take_back
    assert [one.key for one in COMPONENT.kinds] == ["add", "take_back", "fail"]


@pytest.mark.parametrize(
    ("steps", "kind", "slug"),
    [
        ([("take_back",)], Refusing, None),
        ([("take_back",)], counter.Counter, "nothing-cannot-be-taken-back"),
        ([("add", 1), ("fail",), ("take_back",)], Refusing, None),
        ([("add", 1), ("fail",), ("take_back",)], counter.Counter, "nothing-cannot-be-taken-back"),
        ([("add", 1), ("add", 1), ("add", 1), ("take_back",)] * 2, counter.Forgetful, None),
        ([("add", 1), ("take_back",)], counter.Counter, None),
        ([("add", 1), ("add", 1), ("add", 2), ("take_back",)], counter.Counter, None),
    ],
)
def test_the_ledger_says_which_rules_judge(steps, kind, slug):
    found = run_scenario(ready(kind), COMPONENT.configs[0], steps).violation
    assert (found and found.property.slug) == slug


def test_only_a_case_that_may_fail_may_fail():
    class Failing(counter.Counter):
        def take_back(self) -> int | None:
            raise PortError(ErrorKind.STATE, "never")

    found = run_scenario(ready(Failing), COMPONENT.configs[0], [("add", 1), ("take_back",)]).violation
    assert found is not None
    assert found.property.slug == ANSWERS


def test_each_case_is_drawn_with_its_own_weight_where_it_can_be_enabled():
    weights = {one.key: one.weight for one in COMPONENT.steps}
    by_phase = tables(COMPONENT, weights)
    assert [sum(entry[0] == ("take_back",) for entry in by_phase[phase]) for phase in ("live", "failed")] == [8 + 3, 2]
    with pytest.raises(ValueError, match=r"names 'take_back \(late\)', which is not one of its steps"):
        replace(COMPONENT, biases=({"take_back (late)": 3},))
    assert replace(COMPONENT, biases=({"take_back (after the end)": 3},))


def test_what_was_done_is_counted_by_case():
    program = ready()
    counts = Counter(program)
    for _ in range(3):
        config = COMPONENT.configs[0]
        run = run_scenario(program, config, [("take_back",), ("add", 1), ("take_back",), ("fail",), ("take_back",)])
        counts.add(Scenario("counter", config, ()), run)
    (cases,) = counts.tally().settings.values()
    assert cases.steps == {
        "add": 3, "take_back": 3, "take_back (nothing is left)": 3, "take_back (after the end)": 3, "fail": 3,
    }  # fmt: skip
    assert cases.judged["nothing-cannot-be-taken-back"] == 6
    assert counts.tally().exercised["it-was-taken-back-at-the-end"] == 3


def test_a_step_is_as_simple_as_its_first_case():
    rank = Ranking(ready())
    assert rank.of(("add", 1)) < rank.of(("take_back",)) < rank.of(("fail",))


def test_no_case_has_a_name_of_a_step_or_of_another_case():
    twice = Steps[CounterPort, Ledger]()

    @twice.step("producer", ("live",), when=some)
    def take_back(port: CounterPort, ledger: Ledger) -> Answer[int | None]:
        return port.take_back()

    take_back.also("late", ("failed",), when=some)
    take_back.also("late", ("failed",), when=some)
    with pytest.raises(ValueError, match=r"counter: two of its steps are called 'take_back \(late\)'"):
        replace(COMPONENT, steps=tuple(twice.all), bounds={})


@pytest.mark.parametrize("component", COMPONENTS.values(), ids=lambda one: one.name)
def test_one_case_of_a_step_at_most_is_enabled_with_the_same_operands(component: Component):
    program = Program(component, find_implementation("reference"))
    several = [move for move in program.moves.values() if move.cases]
    for number in range(20 if several else 0):
        scenario, _ = Search(program).run(f"cases {number}")
        world = World(program, scenario.config)
        for step in scenario.steps:
            for move in several:
                operands = list(map(tuple, world.choices(move.kind.name)))
                assert len(set(operands)) == len({(one, at) for at in move.cases for one in world.choices_of(at)})
            world.perform(step)
        world.close()
