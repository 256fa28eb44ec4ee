"""Exhaustive exploration of small scopes."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.driver import FINISH, ONE_ORDER, RUN, Program, World, run_scenario
from conformance.engines import read_scenario
from conformance.engines.corpus import corpus
from conformance.engines.digest import CannotRecognise, Recogniser
from conformance.engines.expanding import Expander, Failed
from conformance.engines.explore import Explorer
from conformance.engines.optimum import Optimum, optimum
from conformance.engines.recognition import Recognition
from conformance.engines.scope import Scope, ScopeError, scope_of
from conformance.ports import Implementation, find_implementation, find_known_bug
from conformance.scenarios import Scenario
from reference_impl.network.deque import Deque
from tests.by_default import one_of
from tests.engines import toy, toy_gate


def explorer(component, implementation="reference", drain=True, recognition=Recognition.EXACT, **scope):
    program = Program(COMPONENTS[component], find_implementation(implementation))
    given = {key: str(value) for key, value in scope.items()}
    return Explorer(program, scope_of(program.component, given), drain=drain, recognition=recognition)


SMALL = [
    ("deque", {"elements": 2}),
    ("subpartition", {"elements": 2, "checkpoints": 1}),
    ("assignment", {"rescales": 1, "questions": 1}),
    ("gate", {"gates": '[["remote"]]', "elements": 1, "recovery": "recover-first", "interleaving": "whole"}),
    pytest.param("recovered-channel", {}, marks=pytest.mark.slow(reason="as many states as the ones before together")),
    pytest.param(
        "gate", {"gates": '[["local"]]', "elements": 1, "recovery": "in-memory", "barriers": 0, "checkpoints": 0},
        marks=pytest.mark.slow(reason="by default a gate is explored with a remote channel"),
    ),
    pytest.param(
        "gate", {"gates": '[["remote"]]', "elements": 1, "recovery": "pushed", "interleaving": "whole"},
        marks=pytest.mark.slow(reason="as many states as the others together"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("component", "scope"), SMALL)
def test_the_reference_holds_in_every_run_of_a_small_scope(component, scope):
    result = explorer(component, **scope).explore()
    assert result.complete
    assert not result.found
    assert result.states > 20


def test_an_exploration_says_when_it_is_not_complete():
    assert not explorer("deque").explore(depth=2).complete
    assert not explorer("deque").explore(most_states=10).complete


def test_a_scope_without_anything_to_do_is_complete():
    result = explorer("deque", elements=0, failures=0).explore()
    assert result.complete
    assert result.states == 1


CORPUS = Path(__file__).parent.parent / "corpus"


@pytest.mark.parametrize("bug", ["B-01", "B-D1", "B-R6", "B-36a", "B-C2", "B-82-chain", "B-08"])
def test_no_minimal_scenario_is_shorter_than_the_optimum_of_its_configuration(bug):
    minimal = read_scenario(CORPUS / f"{bug}.json")
    assert optimum(find_known_bug(bug), minimal) == Optimum(len(minimal.steps), proved=True)


@pytest.mark.slow  # an exploration of seconds
def test_a_scenario_that_is_too_long_is_not_optimal():
    known, minimal = find_known_bug("B-01"), read_scenario(CORPUS / "B-01.json")
    longer = Scenario(minimal.component, minimal.config, (*minimal.steps[:1], *minimal.steps))
    assert optimum(known, longer) == Optimum(len(minimal.steps), proved=True)


def test_an_exploration_that_ends_too_early_proves_nothing_but_a_bound():
    minimal = read_scenario(CORPUS / "B-01.json")
    found = optimum(find_known_bug("B-01"), minimal, most_work=2_000)
    assert not found.proved
    assert found.steps is None
    assert 1 <= found.at_least < len(minimal.steps)


def test_the_depth_of_an_exploration_counts_complete_levels_only():
    assert explorer("deque").explore(depth=2).depth == 2
    assert explorer("deque").explore(most_states=2).depth == 0


def test_a_scope_without_limits_lets_every_step_occur_as_often_as_it_is_possible():
    program = Program(COMPONENTS["deque"], find_implementation("reference"))
    limited = explorer("deque", elements=1, failures=0).explore(depth=4)
    free = Explorer(program, Scope(limited.scope.config, {})).explore(depth=4)
    assert not free.complete
    assert free.states > limited.states


def test_one_step_reaches_every_later_pause_of_an_operation():
    """A scenario may let a thread run to any later pause in one step, so an exploration that counts steps must too."""
    minimal = read_scenario(CORPUS / "B-02a.json")
    explored = Explorer(
        Program(COMPONENTS["gate"], find_implementation("reference")), Scope(minimal.config, {}), (RUN, FINISH)
    )
    explored.explore(depth=3)
    far = 0
    for at in range(len(explored._parents)):
        path, expander = explored._path(at), explored.expander
        done = len(path)
        for thread in expander.reach(path).threads.values() if done < 3 else ():
            for stop in expander.pauses(path, thread.name)[1:]:
                world = expander.reach(path)
                world.perform((RUN, thread.name, stop))
                assert world.performed[-1] == (RUN, thread.name, stop)
                there = explored._states[(), Recogniser().digest(world), frozenset()]
                assert len(explored._path(there)) <= done + 1
                far += 1
    assert far


def held_for_ever(at_once=False, **scope):
    """Explores a coordinator whose subtasks hold their reports for ever once a checkpoint is aborted."""
    program = Program(COMPONENTS["coordinator"], find_known_bug("B-O29").build())
    given = {"checkpoints": 1, "events": 0, "reports": 1, "aborts": 1, "failures": 0, "most_turns": 1, **scope}
    made = Explorer(program, scope_of(program.component, {key: str(value) for key, value in given.items()}))
    if at_once:
        made.expander.drains_later = lambda world, counts: None  # type: ignore[method-assign]
    return made


def steps_by_signature(result):
    return {one.signature: len(one.scenario.steps) for one in result.found}


@pytest.mark.parametrize("limits", [{"depth": 9}, {"most_states": 400}], ids=["depth", "states"])
def test_drains_that_are_left_to_later_states_show_the_same_violations_with_as_few_steps(limits):
    left, at_once = held_for_ever(), held_for_ever(at_once=True)
    found = steps_by_signature(left.explore(**limits))
    assert found == steps_by_signature(at_once.explore(**limits))
    assert found["an-abort-lets-reports-go", "stuck", "deliver"] == 7
    assert left._later
    assert not at_once._later


def test_a_complete_exploration_finds_what_only_drains_show():
    explored = held_for_ever(sources="true")
    result = explored.explore()
    assert result.complete
    assert steps_by_signature(result)["an-abort-lets-reports-go", "stuck", "deliver"] == 7
    for one in result.found:
        again = run_scenario(explored.program, one.scenario.config, one.scenario.steps).violation
        assert again is not None
        assert again.signature == one.signature


def test_an_exploration_until_a_violation_finds_a_shortest_one():
    explored = held_for_ever()
    assert not explored.explore(until="an-abort-lets-reports-go").complete
    assert explored.shortest("an-abort-lets-reports-go") == 7
    assert not explored._later


def test_what_is_found_replays():
    bug = find_known_bug("B-01")
    program = Program(COMPONENTS["subpartition"], bug.build())
    scope = scope_of(program.component, {"elements": "2", "checkpoints": "1", "recovered": "0"})
    result = Explorer(program, scope).explore(until=bug.property)
    (found,) = [one for one in result.found if one.slug == bug.property]
    again = run_scenario(program, found.scenario.config, found.scenario.steps)
    assert again.violation is not None
    assert again.violation.signature == found.signature


def test_a_deadlock_is_found_by_exploration():
    bug = find_known_bug("B-02")
    program = Program(COMPONENTS["gate"], bug.build())
    scope = scope_of(program.component, {"gates": '[["remote"]]', "elements": "1"})
    found = Explorer(program, scope).explore(most_states=3000).found
    slugs = {one.slug for one in found}
    assert "threads-do-not-deadlock" in slugs
    assert "locks-are-taken-in-one-order" in slugs


def test_recognising_states_loses_nothing():
    """The states reached within a depth are the same if every path is followed to its end."""
    depth = 4
    recognised = explorer("deque", drain=False, elements=2)
    recognised.explore(depth=depth)
    program, states = recognised.program, set()
    recogniser = Recogniser()

    def follow(path):
        world = World(program, recognised.scope.config)
        counts = {"elements": 0, "failures": 0}
        for step in path:
            world.perform(step)
            counts["elements"] += step[0] in ("add", "add_priority")
            counts["failures"] += step[0] == "fail"
        if counts["elements"] > 2 or counts["failures"] > 1:
            return
        states.add((*counts.values(), recogniser.digest(world)))
        if len(path) < depth:
            for kind in program.component.steps:
                for operands in list(world.choices(kind.name)):
                    follow((*path, (kind.name, *operands)))

    follow(())
    assert len(states) == len(recognised._parents)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"wheels": "4"}, "has no scope key wheels; it has"),
        ({"elements": "many"}, "'many' is not a number"),
        ({"exclusive_buffers": "-3"}, "does not allow this configuration"),
        ({"recovered": "[" * 5_000}, "does not allow this configuration"),
        ({"elements": "9" * 5_000}, "is not a number"),
    ],
)
def test_a_scope_that_makes_no_sense_is_reported_in_words(given, words):
    with pytest.raises(ScopeError, match=words):
        scope_of(COMPONENTS["subpartition"], given)


@pytest.mark.parametrize(("component", "scope"), one_of(2, SMALL[:4]))
def test_a_wide_hash_recognises_the_same_states(component, scope):
    exact = explorer(component, **scope).explore()
    hashed = explorer(component, recognition=Recognition.HASH, **scope).explore()
    assert (hashed.states, hashed.transitions, hashed.depth) == (exact.states, exact.transitions, exact.depth)
    assert hashed.complete


def order_of_locks(depth, **scope):
    """Explores a toy one of whose threads takes the lock of a channel before that of the gate, and another after it."""
    explored = Explorer(toy.broken("lock-order"), Scope(toy_gate.ToyConfig(1), scope), drain=False)
    return [one for one in explored.explore(depth=depth).found if one.slug == ONE_ORDER]


def test_orders_of_locks_that_contradict_each_other_only_in_different_runs_are_found():
    (found,) = order_of_locks(depth=2)
    assert found.signature == (ONE_ORDER, "deadlocked", "across-runs")
    assert found.observed.startswith("in different runs: ")
    assert "takes the gate lock and then the channel 0 lock" in found.observed
    assert not found.scenario.steps
    assert not order_of_locks(depth=1)


def test_orders_of_locks_that_contradict_each_other_in_one_run_are_found_there():
    found = order_of_locks(depth=3)
    assert found
    assert all(one.signature[2] != "across-runs" and one.scenario.steps for one in found)


@pytest.mark.parametrize("recognition", list(Recognition))
def test_states_are_told_apart_by_their_counts_and_by_the_orders_of_their_locks_too(recognition):
    expander = Expander(toy.broken("lock-order"), Scope(toy_gate.ToyConfig(1), {}), recognition=recognition)

    def key(*steps, counts=(1, 0), orders=True):
        expander.orders_matter = orders
        world = expander.reach(steps)
        found = expander._key(world, counts)
        world.close()
        return found

    once, twice = [("push", 0), ("take",)], [("push", 0), ("take",), ("push", 0), ("take",)]
    assert key(*once) == key(*once)
    assert key(*once) != key(*once, counts=(0, 1))
    assert key(*once) != key(*twice)
    assert key(("convert", 0)) != key(("convert", 0), orders=False)
    assert key(("push", 0)) == key(("push", 0), orders=False)


class TakesTheNext(toy_gate.Gate):
    async def take(self):
        channel, buffer = await super().take()
        return channel, buffer + 1


def test_what_happens_at_once_at_the_beginning_is_judged():
    program = toy.program(toy_gate.Toy(TakesTheNext))
    explored = Explorer(program, Scope(toy_gate.ToyConfig(1), {"arrivals": 1}, at_once=("push", "take")))
    assert explored.expander.program is program
    (found,) = explored.explore().found
    assert (found.slug, found.scenario.steps) == ("buffers-are-taken-once-and-in-order", (("push", 0), ("take",)))


def test_a_state_is_expanded_no_further_once_the_violation_is_found(monkeypatch):
    """An exploration ends at once with a violation of the property that it looks for, and with no other."""
    bug = find_known_bug("B-01")
    program = Program(COMPONENTS["subpartition"], bug.build())
    scenario = next(one for name, one in corpus(program.component) if name == "B-01")
    violation = run_scenario(program, scenario.config, scenario.steps).violation
    assert violation is not None
    explored = explorer("subpartition", elements=1)
    explored.explore(depth=0)
    asked: list[int] = []

    def expand(reached):
        for place in range(3):
            asked.append(place)
            yield Failed(place, scenario.steps[-1], scenario.steps, violation)

    monkeypatch.setattr(explored.expander, "expand", expand)
    for stop, expected in ((bug.property, [0]), ("another-property", [0, 1, 2]), (None, [0, 1, 2])):
        explored._stop, explored._found = stop, {}
        explored._expand(0, [])
        assert asked == expected
        asked.clear()


@pytest.mark.parametrize("back", [{}, {1: 0}], ids=["an end", "a circle"])
def test_a_drain_that_was_left_to_a_later_state_is_done_there_once(monkeypatch, back):
    explored = explorer("subpartition", elements=1)
    explored._later, explored._next = dict.fromkeys(range(2), ("poll",)), {0: 1, **back}
    monkeypatch.setattr(explored, "_path", lambda number: (number,))
    drained: list[object] = []
    monkeypatch.setattr(explored.expander, "drain_from", drained.append)
    assert explored._settle() == 0
    assert drained == [(1,)]
    assert explored._drained == {0: None, 1: None}


class Changing(Implementation):
    """Counts the calls of all its deques together."""

    name, version, capabilities = "changing", "1", frozenset()

    def __init__(self, act):
        self.act, self.numbers = act, count()

    def components(self):
        act, numbers = self.act, self.numbers

        class Port(Deque):
            def add(self, item):
                act(self, next(numbers))
                super().add(item)

        return {"deque": lambda config: Port()}


def fail_later(port, number):
    if number > 5:
        raise RuntimeError(f"call {number}")


def remember(port, number):
    port.number = number


@pytest.mark.parametrize(("act", "words"), [(fail_later, "the same outcomes"), (remember, "to the same state")])
def test_an_implementation_that_does_not_repeat_what_it_did_is_told_so(act, words):
    deque = COMPONENTS["deque"]
    with pytest.raises(CannotRecognise, match=f"the same steps must .*{words} every time"):
        Explorer(Program(deque, Changing(act)), scope_of(deque, {"elements": "1"})).explore(most_states=500)


def test_steps_that_are_bounded_in_some_cases_count_as_such_with_values_exchanged():
    scope = {"parallelism": 2, "alike": "subtask", "rare": 1, "aborts": 0, "failures": 0}
    assert explorer("coordinator", **scope).explore(depth=5).states == 92, "176 without the exchange"
