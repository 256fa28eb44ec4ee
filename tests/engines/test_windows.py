"""In a window, the thread with the highest priority works: PCT among the threads of a task and its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.components.pipeline.ledger import Ledger
from conformance.components.pipeline.steps import neighbours, work
from conformance.driver import Program, Turned, World
from conformance.engines.search import LENGTH, WINDOW, Manners, Search, Table
from conformance.ports import find_implementation

PIPELINE = COMPONENTS["pipeline"]
FIRST, SECOND = ("task 1/0",), ("task 0/0",)


def world() -> World:
    made = World(Program(PIPELINE, find_implementation("reference")), make("keyed", 2))
    for step in (("settle", "running"), ("supply", 0, 8), ("supply", 1, 8)):
        made.perform(step)
    return made


def test_who_may_act_and_has_the_highest_priority_works():
    played, awake = world(), []

    def seen(ledger: Any) -> Any:
        awake.append(dict.fromkeys(ledger.threads.awake))
        return awake[-1]

    draws = iter([0.9, 0.1, 0.0])  # the priorities of the two threads, and no change of them
    random = Random(1).random
    search = Search(played.program)
    tables = Manners(PIPELINE, PIPELINE.searched[0]).tables(0.5, random)
    before = len(played.performed)
    turned = Turned(work, seen, lambda ledger, draw: [FIRST, SECOND])
    count = search.draw_by_priority(played, turned, tables, lambda: next(draws, None) or random())
    assert 20 < count <= WINDOW
    worked = [step[1:] for step in played.performed[before:] if step[0] == work.name]
    expected = [
        FIRST if FIRST in there else SECOND if SECOND in there else next(iter(there)) for there in awake if there
    ]
    assert worked == expected
    assert {FIRST, SECOND} < set(worked), "others work while neither of them may"


def test_twelve_threads_at_most_are_neighbours():
    for graph in ("keyed", "two inputs", "two sinks"):
        ledger = Ledger(make(graph, 3), frozenset(), {})
        for number in range(40):
            few = neighbours(ledger, Random(number).random)
            assert len(set(few)) == len(few) <= 12
            assert sum(name.startswith("task ") for (name,) in few) > 1


def entries(random: Callable[[], float], *names: str) -> Table:
    """Each of these steps once."""
    every = Manners(PIPELINE, PIPELINE.searched[0]).tables(0.5, random)["live"]
    return tuple({entry[0][0]: entry for entry in every}[name] for name in names)


def test_an_operation_begins_while_nobody_may_act():
    played, random = world(), Random(1).random
    search, before = Search(played.program), len(played.performed)
    turned = Turned(work, lambda ledger: {}, lambda ledger, draw: [FIRST, SECOND])
    table = entries(random, work.name, "throttle")
    assert search.draw_by_priority(played, turned, {"live": table}, random, 0) == WINDOW
    assert {step[0] for step in played.performed[before:]} == {"throttle"}


def test_a_window_ends_with_the_life_also_if_its_end_has_woken_a_thread():
    """A kill wakes a writer. What was enabled before it is not enabled any more."""
    played = world()
    before = len(played.performed)
    awake: dict[Any, None] = {}

    def kills(ledger: Any) -> Any:
        awake[FIRST] = None
        return [()]

    turned = Turned(work, lambda ledger: awake, lambda ledger, draw: [FIRST])
    draws = iter([0.5, 0.25, 0.0])  # a priority, and that it changes once, at once
    count = Search(played.program).draw_by_priority(
        played, turned, {"live": ((("kill",), kills, ""),)}, lambda: next(draws, 0.0)
    )
    assert (count, played.performed[before:]) == (1, [("kill",)])


def test_what_begins_in_a_window_is_no_turn():
    played, random = world(), Random(1).random
    search, before = Search(played.program), list(played.performed)
    assert not search._operate(played, entries(random, work.name), work.name, random)
    assert played.performed == before
    assert search._operate(played, entries(random, work.name, "throttle"), work.name, random)
    assert played.performed[len(before)][0] == "throttle"


def test_in_a_long_life_frequent_steps_are_stretched_and_rare_ones_are_as_frequent_as_they_are_declared():
    """A failure ends a life, so none is drawn; the other rare steps are left out where it can be restored."""
    component = COMPONENTS["subpartition"]
    length = 30 * LENGTH
    stretch, tame, wild = Search(Program(component, find_implementation("reference")), length)._shapes[0].lives[-1]
    assert stretch == 30
    for manners, rare in ((tame, 0), (wild, 1)):
        kinds = {kind.key: kind for kind in component.steps}
        for phase, table in manners.tables(0.5, Random(1).random).items():
            counts = Counter(entry[0][0] for entry in table)
            expected: Counter[str] = Counter()
            for kind in kinds.values():
                if phase in kind.during:
                    common = kind.weight > 2 or kind.by == "observer"
                    expected[kind.name] += 0 if kind.crashes else kind.weight * (stretch if common else rare)
            assert counts == +expected


def test_a_life_ends_with_a_failure_and_the_restore_after_it():
    """The restore that fails is none of the failures with which a life ends."""
    component = COMPONENTS["subpartition"]
    search = Search(Program(component, find_implementation("reference")))
    kinds = {kind.name: kind for kind in component.steps}
    ways = set()
    for number in range(6):
        scenario, _ = search.run(f"ways/{number}")
        played = World(search.program, scenario.config)
        for step in scenario.steps:
            ways.update(search._ways_out(played))
            played.perform(step)
        played.close()
    assert ways
    for fail, restore in ways:
        assert kinds[fail].crashes
        assert not kinds[fail].fresh_port
        assert kinds[restore].fresh_port


def test_what_fails_in_the_search_or_is_known_to_be_harmless_is_not_drained():
    search = Search(Program(COMPONENTS["subpartition"], find_implementation("known-bug:B-01")))
    runs = [search.run(f"closing/{number}")[1] for number in range(12)]
    assert {run.closing_steps for run in runs if run.violation is not None} == {0}
    assert any(run.closing_steps for run in runs)
    runs = [search.run(f"closing/{number}", harmless=lambda config, steps: True)[1] for number in range(12)]
    assert {run.closing_steps for run in runs} == {0}
