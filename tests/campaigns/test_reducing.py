"""Each runner reduces the failures of a campaign to the same findings, also if processes die meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest
from msgspec.structs import replace

from conformance.campaigns import (
    CampaignError,
    CampaignInterrupted,
    Inline,
    Names,
    Processes,
    campaign,
    files,
    load,
    make_plan,
    reduce,
    resume,
    start,
    status,
    works_worker,
)
from conformance.campaigns.block import Counts, encode_tally
from conformance.campaigns.grouping import Findings, Grouping, grouped
from conformance.campaigns.merge import Sum
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.reducing import Case, Reducer, longest_first
from conformance.campaigns.reductions import Confirmation, Reduction
from conformance.campaigns.runners import Runner
from conformance.campaigns.spark_runner import JOBS, Jobs, Session
from conformance.campaigns.works_worker import WorksWorker
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import reduce_failures, search_range
from conformance.engines.tally import Tally
from conformance.engines.worker import Worker
from conformance.ports import Implementation, UnusableImplementation, find_implementation

NAME = "known-bug:B-01"
ATTEMPTS = 3
"""Each of them starts a process."""
PLAN = make_plan("reducing", ["reference", NAME], ["deque", "chain", "subpartition"], scenarios=100, budget=100)


def program(component: str) -> Program:
    return Program(COMPONENTS[component], find_implementation(NAME))


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """The failures that a search finds."""
    return [
        Case(NAME, of, one)
        for of in PLAN.components
        for one in encode_tally(search_range(program(of), PLAN.seed, range(PLAN.scenarios or 0))).failures
    ]


def reduced(runner: Runner, cases: Sequence[Case]) -> list[FindingRecord]:
    """The findings in the order of the cases."""
    kept: dict[tuple[str, object], FindingRecord] = {}
    with runner.opened(PLAN) as running:
        running.do(
            Reduction(PLAN, PLAN.budget),
            cases,
            lambda case, one: kept.update({(case.component, case.signature): one}),
            print,
        )
    assert len(kept) == len(cases)
    return [kept[case.component, case.signature] for case in cases]


@pytest.fixture(scope="module")
def findings(cases) -> list[FindingRecord]:
    """What one process comes to."""
    return reduced(Inline(), cases)


def test_a_finding_is_what_the_engine_reduces_its_case_to(cases, findings):
    found = [
        one
        for of in PLAN.components
        for one in reduce_failures(
            program(of), search_range(program(of), PLAN.seed, range(PLAN.scenarios or 0)), PLAN.budget
        )
    ]
    assert [(one.owed, one.observed, len(one.scenario.steps)) for one in findings] == [
        (one.owed, one.observed, len(one.scenario.steps)) for one in found
    ]
    assert len(findings) > 2


@pytest.mark.parametrize("processes", [1, 3])
def test_several_processes_come_to_what_one_comes_to(processes, cases, findings):
    assert reduced(Processes(processes), cases) == findings


def nowhere(name: str) -> Implementation:
    raise UnusableImplementation("it is not there")


@pytest.mark.slow  # workers that fail to begin
def test_an_implementation_that_cannot_be_made_is_an_error_and_no_finding(cases):
    with pytest.raises(UnusableImplementation):
        reduced(Inline(Names(nowhere)), cases)
    with pytest.raises(UnusableImplementation):
        reduced(Processes(2, Names(nowhere)), cases)


def killing(monkeypatch: pytest.MonkeyPatch, most: int) -> list[str]:
    """Kill the worker that is asked to do something, so often. Returns what it was asked for."""
    ask, killed = Worker.ask, list[str]()

    def killer(self, *asked, **more):
        if asked[0] == "do" and len(killed) < most:
            killed.append(asked[0])
            os.kill(self._started.pid, signal.SIGKILL)
        return ask(self, *asked, **more)

    monkeypatch.setattr(Worker, "ask", killer)
    monkeypatch.setattr(works_worker, "ATTEMPTS", ATTEMPTS)
    return killed


def test_a_failure_whose_worker_was_killed_is_reduced_again(cases, findings, monkeypatch):
    killed = killing(monkeypatch, ATTEMPTS - 1)
    assert reduced(Processes(1), cases) == findings
    assert len(killed) == ATTEMPTS - 1


@pytest.mark.slow  # one that dies once is reduced by default
def test_a_failure_whose_worker_dies_each_time_is_shown_as_it_was_found(cases, findings, monkeypatch):
    killing(monkeypatch, ATTEMPTS)
    first, *others = reduced(Processes(1), cases)
    assert others == findings[1:]
    assert first.observed == f"{cases[0].failure.observed} (not reduced: the process that reduced it died each time)"
    assert first.scenario.steps == cases[0].failure.scenario.steps
    assert first.budget == PLAN.budget  # so that a larger one reduces it again


class DyingTasks(Jobs):
    """Jobs without Spark, of which each one fails that has the case of `poison`, so many times at most."""

    def __init__(self, poison: Case, most: int) -> None:
        super().__init__(Session(None, lambda: None, lambda: True, lambda: 2), PLAN, Names(), 4)
        self.poison, self.left, self.jobs = poison, most, list[int]()

    def _done(self, function, works):
        self.jobs.append(len(works))
        if self.left and self.poison in works:
            self.left -= 1
            raise RuntimeError("Python worker exited unexpectedly (crashed)")
        with function.ready(Names()) as do:
            return [(at, do(work)) for at, work in reversed(list(enumerate(works)))]


@contextmanager
def opened(jobs: Jobs) -> Iterator[Jobs]:
    yield jobs


class Given(Inline):
    """A runner that has these jobs."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self.jobs = jobs

    def opened(self, plan):
        return opened(self.jobs)


def test_a_task_that_dies_a_few_times_is_run_again_in_halves(cases, findings):
    jobs = DyingTasks(cases[0], JOBS - 1)
    assert reduced(Given(jobs), cases) == findings
    assert jobs.jobs == [4, 2, 1, 1, 2]


def test_a_task_that_dies_each_time_leaves_one_failure_as_it_was_found(cases, findings, capsys):
    first, *others = reduced(Given(DyingTasks(cases[0], 1_000)), cases)
    assert others == findings[1:]
    assert first.observed == f"{cases[0].failure.observed} (not reduced: the process that reduced it died each time)"
    about = f"a failure of {NAME} in {cases[0].component}"
    assert capsys.readouterr().out.endswith(f"{about} is given up: its worker died each time\n")


def test_a_finding_is_confirmed_in_another_process_or_says_that_it_is_not(cases, findings, monkeypatch):
    killing(monkeypatch, ATTEMPTS - 1)
    worker = WorksWorker(Confirmation(PLAN), Names())
    try:
        assert [worker.do(one) for one in zip(cases, findings, strict=True)] == findings
        no_bug = replace(cases[0], implementation="reference")
        said = worker.do((no_bug, findings[0])).observed
        assert said == f"{findings[0].observed} (not confirmed: run again in another process, nothing fails)"
        killing(monkeypatch, ATTEMPTS)
        said = worker.do((cases[0], findings[0])).observed
        assert said.endswith(" (not confirmed: the process that ran it again died each time)")
    finally:
        worker.close()


@pytest.mark.slow  # workers that are killed; they are when they reduce, too
def test_findings_have_the_same_likely_causes_in_every_process(findings, monkeypatch):
    work, function = Findings(NAME, tuple(findings)), Grouping(PLAN)
    here = grouped(PLAN, Names(), work)
    assert 1 < sum(len(one.findings) for one in here.causes) == len(findings)
    worker = WorksWorker(function, Names())
    try:
        assert worker.do(work) == here
        killed = killing(monkeypatch, ATTEMPTS)
        assert worker.do(work) == here
        assert len(killed) == ATTEMPTS
    finally:
        worker.close()
    assert function.read(work, msgspec.json.encode(here), Names()) == here


def test_another_failure_is_not_the_one_that_was_found(cases, findings):
    case, another = (case for case in cases if case.component == "subpartition")
    finding = findings[cases.index(another)]
    assert case.signature != another.signature
    said = Reducer(PLAN, Names(), 0).confirm(case, finding).observed
    assert f"run again in another process, {another.signature[0]} fails" in said


def test_the_longest_are_reduced_first(cases):
    def costly(component: str) -> Sum:
        """A sum in which the steps of a component take this implementation long, and another one all the same time."""
        counts = {one: Counts({NAME: Tally(scenarios=100, steps=1000)}) for one in PLAN.components}
        mine = {(one, NAME): 99.0 if one == component else 0.1 for one in PLAN.components}
        return Sum(counts, seconds={**mine, **{(one, "reference"): 500.0 for one in PLAN.components}})

    for component in ("chain", "subpartition"):
        ordered = longest_first(reversed(cases), costly(component))
        assert ordered[0].component == component
        mine = [len(one.failure.scenario.steps) for one in ordered if one.component == component]
        assert mine == sorted(mine, reverse=True)
        assert ordered == longest_first(cases, costly(component))


SMALL = make_plan("reduce", ["reference", NAME], ["subpartition", "chain"], scenarios=60, block=15, budget=3)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ended") / "campaign"
    start(folder, SMALL, Inline())
    return folder


def found_in(folder):
    """What a result says of the implementations; its plan names the budget, too."""
    return load(folder).implementations


@pytest.mark.slow  # two campaigns, reduced twice
def test_a_larger_budget_comes_to_what_a_campaign_with_that_budget_comes_to(ended, tmp_path):
    folder = shutil.copytree(ended, tmp_path / "campaign")
    start(tmp_path / "other", replace(SMALL, budget=400), Inline())
    assert found_in(folder) != found_in(tmp_path / "other")
    reduce(folder, Processes(2), 400)
    assert found_in(folder) == found_in(tmp_path / "other")
    assert (folder / files.REDUCTION).exists()
    before = (folder / files.RESULT).stat().st_mtime_ns
    reduce(folder, Inline(), 300)  # less than before
    reduce(folder, Inline())
    assert (folder / files.RESULT).stat().st_mtime_ns == before
    (folder / files.RESULT).unlink()
    resume(folder, Inline())
    assert found_in(folder) == found_in(tmp_path / "other")


def test_a_campaign_that_lacks_blocks_is_not_reduced(ended, tmp_path):
    folder = shutil.copytree(ended, tmp_path / "campaign")
    shutil.rmtree(folder / files.WAVES / "0")
    with pytest.raises(CampaignError, match=r"has not run all its blocks\. Continue with: conformance campaign resume"):
        reduce(folder, Inline())


def test_minutes_that_are_over_are_not_begun_again_by_what_an_interruption_says(tmp_path, monkeypatch):
    """It named `resume`, which searches for so many minutes again."""

    def interrupted(*about: object) -> None:
        raise KeyboardInterrupt

    plan = make_plan("minutes", ["reference"], ["deque"], minutes=1, block=1)
    times = iter((0.0, *[100.0] * 9))
    with monkeypatch.context() as patch:
        patch.setattr(campaign, "finish", interrupted)
        with pytest.raises(CampaignInterrupted, match="Continue with: conformance campaign reduce "):
            start(tmp_path / "c", plan, Inline(), clock=lambda: next(times))
        with pytest.raises(CampaignInterrupted, match="Continue with: conformance campaign reduce "):
            reduce(tmp_path / "c", Inline())
    before = status(tmp_path / "c").blocks
    reduce(tmp_path / "c", Inline())
    assert (status(tmp_path / "c").blocks, status(tmp_path / "c").finished) == (before, True)
