"""Failures are reduced in several processes with the same result as in one."""

from __future__ import annotations

import os
import signal

import pytest

from conformance.campaigns import Names, make_plan
from conformance.campaigns.reducing import reduced_apart
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import Found, reduce_failures, search_range
from conformance.engines.tally import Tally
from conformance.engines.worker import Worker
from conformance.ports import Implementation, UnusableImplementation, find_implementation

NAME = "known-bug:B-01"
PLAN = make_plan("reducing", ["reference", NAME], ["deque", "chain", "subpartition"], scenarios=100, budget=100)


def program(component: str) -> Program:
    return Program(COMPONENTS[component], find_implementation(NAME))


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    return {of: search_range(program(of), PLAN.seed, range(PLAN.scenarios or 0)) for of in PLAN.components}


def apart(tallies: dict[str, Tally], names: Names, processes: int) -> dict[str, list[Found]]:
    """The findings by component, as they are kept."""
    kept: dict[str, list[Found]] = {of: [] for of in tallies}
    reduced_apart(PLAN, NAME, tallies, names, processes, lambda one: kept[one.scenario.component].append(one))
    return {of: sorted(found, key=lambda one: one.signature) for of, found in kept.items()}


def nowhere(name: str) -> Implementation:
    raise UnusableImplementation("it is not there")


@pytest.mark.parametrize("processes", [1, 2, 9])
def test_they_come_to_what_one_process_comes_to(processes, tallies):
    found = apart(tallies, Names(), processes)
    assert found == {of: list(reduce_failures(program(of), tallies[of], PLAN.budget)) for of in PLAN.components}
    assert sum(map(len, found.values())) > 2
    assert found["deque"] == []


def test_a_single_failure_is_left_to_the_driver(tallies):
    signature, failure = next(iter(tallies["subpartition"].failures.items()))
    assert apart({"subpartition": Tally(failures={signature: failure})}, Names(), 2) == {"subpartition": []}
    assert apart({}, Names(), 2) == {}


def test_what_no_worker_can_reduce_is_left_to_the_driver(tallies):
    assert not any(apart(tallies, Names(nowhere), 2).values())


def test_a_failure_whose_worker_was_killed_is_left_to_the_driver(tallies, monkeypatch):
    ask, killed = Worker.ask, list[str]()

    def once(self, *request, **more):
        if request[:2] == ("reduce", "chain") and not killed:
            killed.append("chain")
            os.kill(self._started.pid, signal.SIGKILL)
        return ask(self, *request, **more)

    monkeypatch.setattr(Worker, "ask", once)
    found = apart(tallies, Names(), 1)
    assert killed
    assert len(found["chain"]) == len(tallies["chain"].failures) - 1
    assert found["subpartition"] == list(reduce_failures(program("subpartition"), tallies["subpartition"], PLAN.budget))
