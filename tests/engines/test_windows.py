"""In a window, the thread with the highest priority works: PCT among the threads of a task and its neighbours."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.components.pipeline.ledger import Ledger
from conformance.components.pipeline.steps import neighbours, work
from conformance.driver import Program, Turned, World
from conformance.engines.search import WINDOW, Manners, Search
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
