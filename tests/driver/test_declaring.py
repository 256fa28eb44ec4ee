"""What a declaration says: steps and rules by their functions, components that name only what they have, the drain."""

from __future__ import annotations

import pickle
import subprocess
import sys
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import ValidationError
from msgspec.json import decode

from conformance.driver import (
    Bound,
    Broken,
    Component,
    Components,
    Drain,
    Each,
    End,
    FailureClass,
    Judgement,
    Kind,
    Level,
    Once,
    PortLedger,
    Program,
    Property,
    Run,
    Settings,
    Shape,
    Step,
    Steps,
    Unsure,
    While,
    always,
    run_scenario,
)
from conformance.engines import Search
from conformance.engines.known_failures import load_known_failures
from conformance.engines.replay import ReplayVerdict, replay
from conformance.ports import Port
from conformance.scenarios import Finding, Scenario, SchemaError, encode_scenario
from tests.components import counter
from tests.components.counter import COMPONENTS, COUNTER, CounterScenarioConfig
from tests.engines import toy


# ---- steps and rules -------------------------------------------------------------------------------------------------
def test_a_step_is_what_its_function_says():
    add: Step[counter.Ledger, None, int] = counter.add
    assert (add.name, add.by, add.during, add.weight) == ("add", "producer", ("live",), 16)
    assert dict(add.operands) == {"amount": int}
    assert add.answers is type(None)
    assert counter.take_back.answers == int | None
    assert add(3) == ("add", 3)


def test_a_rule_is_what_its_function_says():
    rule = COUNTER.meant("the-total-is-the-sum-of-what-was-added")[0]
    assert rule.statement == "The total is the first number and all that was added and not taken back."
    assert rule.on == ("total",)
    assert rule.tickets == ("own",)


def test_statements_are_docstrings_so_a_python_that_strips_them_is_reported():
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "import conformance.components"], capture_output=True, text=True, check=False,
        cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    assert done.returncode != 0
    assert "run Python without -OO" in done.stderr.splitlines()[-1]


# ---- components ------------------------------------------------------------------------------------------------------
def changed(**what: object) -> Component:
    fields = {name: getattr(COUNTER, name) for name in COUNTER.__dataclass_fields__}
    return Component(**{**fields, **what})


@pytest.mark.parametrize(
    "what",
    [
        {"bounds": {"amounts": Bound(("ad",), 3)}},
        {"biases": ({"ad": 3},)},
        {"prefixes": ((("ad", 3),),)},
        {"prefixes": ((("finish", "ad"),),)},
    ],
)
def test_a_bound_a_bias_or_a_prefix_names_steps_that_there_are(what: dict[str, object]):
    with pytest.raises(ValueError, match=r"names '(ad|finish)', which is not one of its steps"):
        changed(**what)


def test_something_can_be_observed_after_the_release():
    steps = tuple(one for one in COUNTER.steps if one.name in ("add", "take_back", "fail"))
    with pytest.raises(ValueError, match="none of its steps is enabled in the final phase 'failed'"):
        changed(steps=steps)


def test_a_component_with_threads_has_the_rules_about_them():
    missing = "counter: it has threads, so its rules must include those of `thread_properties`; it lacks 'threads-do"
    with pytest.raises(ValueError, match=missing):
        changed(threads=("producer",))


@pytest.mark.parametrize("name", ["run", "finish"])
def test_with_threads_no_step_has_the_name_of_a_turn(name: str):
    toy_gate, steps = toy.TOY, Steps[Port, PortLedger]()

    @steps.step("task", ("live",), when=always, name=name)
    def other(port: Port, ledger: PortLedger) -> None: ...

    with pytest.raises(ValueError, match=f"a step cannot be called '{name}', because a turn has this name and the"):
        replace(toy_gate, steps=(*toy_gate.steps, other))
    named = changed(steps=(*COUNTER.steps, other))
    assert not named.is_turn((name,))
    assert named.operands_of(name) == ()
    assert toy_gate.is_turn((name, "task"))


def test_each_step_has_a_name_of_its_own():
    with pytest.raises(ValueError, match="counter: two of its steps are called 'add'"):
        changed(steps=(*COUNTER.steps, counter.add))
    steps = Steps[Port, PortLedger]()

    @steps.step("task", ("live",), when=always)
    def new(port: Port, ledger: PortLedger) -> None: ...

    with pytest.raises(ValueError, match="a step cannot be called 'new': so is the call that makes a port"):
        changed(steps=(*COUNTER.steps, new))


def test_a_rule_that_returns_no_judgement_is_an_error_that_names_it():
    """Nothing would look like a rule that is never put to the test."""
    judged = {one.slug: one for one in COUNTER.properties}
    slug = "the-total-is-the-sum-of-what-was-added"
    for nonsense in (None, 0, "no"):
        check: Any = partial(lambda returned, ledger, seen: returned, nonsense)
        component = replace(COUNTER, properties=tuple({**judged, slug: replace(judged[slug], check=check)}.values()))
        with pytest.raises(TypeError, match=f"the rule {slug} of counter returned {nonsense!r}, which is no judgement"):
            run_scenario(Program(component, counter.Counting()), CounterScenarioConfig(), [("total",)])


def test_what_a_ledger_returns_when_it_learns_is_no_judgement():
    """A component that no type checker has read may return something there."""
    learning = {"add": ("end", lambda ledger, amount: ledger.add(amount) or "noted")}
    learning["take_back"] = "learn", lambda ledger, seen: ledger.take_back(seen) or True
    steps = []
    for one in COUNTER.steps:
        changed = copy(one)
        if one.name in learning:
            setattr(changed, *learning[one.name])
        steps.append(changed)
    ready = Program(replace(COUNTER, steps=tuple(steps)), counter.Counting())
    run = run_scenario(ready, CounterScenarioConfig(), [("add", 1), ("add", 2), ("take_back",), ("total",)])
    assert run.violation is None
    assert len(run.performed) == 4


class _Shaped(CounterScenarioConfig, frozen=True):
    @property
    def shape(self) -> str:
        return "from zero" if self.first == 0 else "from more"


def test_a_component_with_shapes_says_everything_of_its_configurations_there():
    zero, more = Shape("from zero", (_Shaped(0),), {}), Shape("from more", (_Shaped(5),), {})
    settings = Settings(shape=lambda config: config.shape)
    shaped = replace(COUNTER, configs=(_Shaped(0), _Shaped(5)), shapes=(zero, more), settings=settings)
    for what, why in (
        ({"biases": ({"add": 40},)}, "it has shapes, so biases and prefixes belong to one of them"),
        ({"prefixes": ((("add", 1),),)}, "it has shapes, so biases and prefixes belong to one of them"),
        ({"configs": (_Shaped(0),)}, "its configurations must be those of its shapes, in their order"),
        ({"shapes": (zero, replace(more, name="other"))}, "has the shape 'from more', and it is declared with the"),
        ({"shapes": ()}, "has the shape 'from zero', and it is declared with the shape ''"),
    ):
        with pytest.raises(ValueError, match=f"counter: .*{why}"):
            replace(shaped, **what)


def test_the_configurations_of_a_program_do_not_change():
    ready = Program(COUNTER, counter.Counting())
    with pytest.raises(AttributeError):
        ready.configs = ()  # type: ignore[misc]
    one = ready.within(ready.configs[:1])
    assert (len(one.configs), len(ready.configs)) == (1, 2)
    assert {Search(one).run(f"within/{number}")[0].config for number in range(20)} == {ready.configs[0]}


def test_of_components_only_their_place_is_sent_to_another_process():
    assert pickle.loads(pickle.dumps(COMPONENTS)) is COMPONENTS


def test_an_unknown_component_is_reported_with_those_there_are():
    known = "there are assignment, barrier-handler, chain, consumer-loop, coordinator, counter, deque, drainer"
    with pytest.raises(KeyError, match=f"there is no component 'gates'; {known}"):
        COMPONENTS["gates"]


# ---- earlier slugs ---------------------------------------------------------------------------------------------------
@pytest.fixture
def renamed() -> dict[str, Component]:
    """The counter, one of whose rules had another name in earlier versions."""
    rules = tuple(
        one if one.slug != counter.BUG.property else _formerly(one, "the-sum-is-right") for one in COUNTER.properties
    )
    return {"counter": changed(properties=rules)}


def _formerly(one: Property, *slugs: str) -> Property:
    return replace(one, formerly=slugs)


ENTRY = (
    '[[failure]]\nproperty = "{}"\ncomponent = "counter"\nclass = "protocol"\nticket = "own"\n'
    'reason = "it forgets"\nscenario = "lost.json"\n'
)
LOST = (("add", 1), ("add", 1), ("add", 1), ("total",))


def scenario(slug: str) -> Scenario:
    return Scenario("counter", CounterScenarioConfig(), LOST, Finding(slug, "protocol"))


def test_a_scenario_that_names_an_earlier_slug_is_replayed_for_the_property_of_today(renamed):
    assert replay(scenario("the-sum-is-right"), counter.forgetful(), (), renamed).verdict is ReplayVerdict.FAILED
    assert replay(scenario("the-sum-is-right"), counter.counting(), (), renamed).verdict is ReplayVerdict.FIXED
    unknown = replay(scenario("the-sum-was-right"), counter.counting(), (), renamed)
    assert unknown.verdict is ReplayVerdict.NOT_APPLICABLE
    assert unknown.reason == "this suite has no property 'the-sum-was-right'"


def test_a_known_failure_may_name_an_earlier_slug(tmp_path: Path, renamed):
    known = Components("", tuple(renamed.values()))
    (tmp_path / "lost.json").write_text(encode_scenario(scenario("the-sum-is-right")), encoding="utf-8")
    file = tmp_path / "known.toml"
    file.write_text(ENTRY.format("the-sum-is-right"), encoding="utf-8")
    (failure,) = load_known_failures(file, known)
    assert failure.signatures(counter.forgetful(), (), known) == ((counter.BUG.property, "protocol", "total"),)
    assert failure.signatures(counter.counting(), (), known) == ()
    file.write_text(ENTRY.format("the-sum-was-right"), encoding="utf-8")
    with pytest.raises(SchemaError, match="there is no property 'the-sum-was-right' of 'counter'"):
        load_known_failures(file, known)


def test_a_known_failure_with_a_slug_that_was_split_stands_for_every_property_that_it_meant(tmp_path: Path, renamed):
    counter_of_today = renamed["counter"]
    last = counter_of_today.properties[-1]
    split = tuple(_formerly(one, "the-sum-is-right") if one is last else one for one in counter_of_today.properties)
    known = Components("", (replace(counter_of_today, properties=split),))
    (tmp_path / "lost.json").write_text(encode_scenario(scenario("the-sum-is-right")), encoding="utf-8")
    (tmp_path / "known.toml").write_text(ENTRY.format("the-sum-is-right"), encoding="utf-8")
    (failure,) = load_known_failures(tmp_path / "known.toml", known)
    assert failure.signatures(counter.forgetful(), (), known) == (
        (counter.BUG.property, "protocol", "total"), (last.slug, "protocol", "total"),
    )  # fmt: skip


# ---- rules with a condition ------------------------------------------------------------------------------------------
def test_rules_with_one_condition_ask_for_it_once_and_judge_only_then():
    asked: list[int] = []

    def enough(ledger: counter.Ledger) -> bool:
        asked.append(len(ledger.added))
        return len(ledger.added) > 1

    def rule(slug: str, judgement: Judgement) -> Property:
        return Property(
            slug, "It is.", "counter", ("add",), lambda ledger, seen: judgement, after_learning=True, given=enough
        )

    rules = (rule("first", True), rule("second", False), rule("third", Unsure("nobody looked")))
    late: list[object] = []

    def is_late(ledger: counter.Ledger, seen: object) -> bool:
        late.append(seen)
        return True

    fifth = replace(rule("fifth", True), check=is_late)
    broken = (*rules, rule("fourth", Broken(FailureClass.LOST, "more", "less")), fifth)
    twice = (("add", 1), ("add", 2))

    def run(some: tuple[Property, ...]) -> tuple[Program, Run]:
        ready = Program(changed(properties=(*COUNTER.properties, *some)), counter.counting())
        return ready, run_scenario(ready, CounterScenarioConfig(), twice)

    ready, held = run(rules)
    assert held.violation is None
    assert held.evidence is not None
    assert asked == [1, 2]  # after the ledger has learned, and once for all three
    ((row,),) = [tuple(rows.values()) for _, rows, _ in held.evidence.rows]
    assert [row[ready.places[one.slug]] for one in rules] == [1, 0, 0]
    assert held.evidence.unsure == {(ready.places["third"], "nobody looked"): 1}
    _, found = run(broken)
    assert found.violation is not None
    assert found.violation.property.slug == "fourth"
    assert late == []  # it may rely on the fourth
    with pytest.raises(ValueError, match="sixth has a condition, so it must be judged after learning"):
        replace(rules[0], slug="sixth", after_learning=False)


# ---- the drain -------------------------------------------------------------------------------------------------------
class Draining(PortLedger):
    __slots__ = ("left", "over")

    def __init__(self, left: int, over: bool = False) -> None:
        super().__init__()
        self.left, self.over = left, over


def steps_of(drain: Drain[Draining], ledger: Draining) -> list[tuple[object, ...]]:
    """What a run of the drain issues; each step takes one of what is left."""
    running, found = drain.begin(), []
    while (step := running.next(ledger)) is not None:
        found.append(step)
        ledger.left -= 1
    assert running.next(ledger) is None
    return found


def _take(ledger: Draining) -> tuple[str] | None:
    return ("take",) if ledger.left > 0 else None


def test_a_drain_goes_through_its_list():
    drain = Drain[Draining](
        While((_take,)),
        Once((("look",), ("count",))),
        Once((("release",),), unless=lambda ledger: ledger.over),
        Each(lambda ledger: [("inspect", number) for number in range(2)]),
    )
    end = [("look",), ("count",), ("release",), ("inspect", 0), ("inspect", 1)]
    assert steps_of(drain, Draining(2)) == [("take",), ("take",), *end]
    assert steps_of(drain, Draining(0, over=True)) == [one for one in end if one != ("release",)]


def test_a_drain_may_end_early_and_may_be_empty():
    drain = Drain[Draining](End(lambda ledger: ledger.over), Once((("look",),)))
    assert steps_of(drain, Draining(0, over=True)) == []
    assert steps_of(drain, Draining(0)) == [("look",)]
    assert steps_of(Drain[Draining](), Draining(0)) == []


def test_two_runs_of_a_drain_do_not_know_of_each_other():
    drain = Drain[Draining](Once((("look",), ("count",))))
    first, second = drain.begin(), drain.begin()
    ledger = Draining(0)
    assert [first.next(ledger), second.next(ledger), first.next(ledger)] == [("look",), ("look",), ("count",)]


def test_a_step_that_changes_nothing_does_not_advance_what_is_due_but_a_run_has_an_end():
    """A drain that never ends is a finding, not a run that never ends."""
    endless = changed(drain=Drain[counter.Ledger](While((lambda ledger: counter.total(),))))
    run = run_scenario(Program(endless, counter.counting()), CounterScenarioConfig(), ())
    assert run.violation is not None
    assert run.violation.broken.failure_class == "stuck"


@pytest.mark.parametrize(("written", "kind"), [(b'"should"', Level), (b'"eventually"', Kind)])
def test_the_words_of_earlier_results_can_be_read(written, kind):
    assert decode(written, type=kind) is next(iter(kind))
    with pytest.raises(ValidationError):
        decode(b'"perhaps"', type=kind)
