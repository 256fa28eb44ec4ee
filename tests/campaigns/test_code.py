"""What a campaign says when its code has changed, and what it counts: without a process, and without a search."""

from __future__ import annotations

import os
import socket
import sys
from importlib.machinery import ModuleSpec

import pytest

from conformance.campaigns import CampaignError, files
from conformance.campaigns.block import encode, encode_tally, has_corpus, run_part
from conformance.campaigns.campaign import _check_code
from conformance.campaigns.checks import PART, _merged, works_of
from conformance.campaigns.code import Code, CodeLog, code_by_names
from conformance.campaigns.course import Course, _Work
from conformance.campaigns.loading import _check_causes
from conformance.campaigns.lock import LOCK, held
from conformance.campaigns.names import Names, name_of
from conformance.campaigns.plan import Block, make_plan
from conformance.campaigns.result import (
    CauseResult,
    ComponentResult,
    FindingResult,
    ImplementationResult,
    causes_of,
)
from conformance.campaigns.result import name_of as finding_name_of
from conformance.campaigns.seconds import Watch
from conformance.components import COMPONENTS
from conformance.driver import FailureClass, Program
from conformance.engines.patience import PATIENCE
from conformance.engines.tally import Tally
from conformance.ports import find_implementation
from conformance.scenarios import Scenario
from tests.implementations import NothingToMake

DESCRIBES = 'print(\'{"name": "x"}\')\n'
BEFORE = Code({"a.py": "1", "b.py": "1", "c.py": "1", "d.py": "1"}, {"mine": "1.0"}, {"python": "3.11"})


def test_each_change_of_the_code_is_told():
    now = Code({"a.py": "1", "b.py": "2", "c.py": "1", "e.py": "1"}, {"mine": "1.1"}, {"python": "3.12"})
    assert BEFORE.changes(now) == [
        "python is version '3.12', it was '3.11'",
        "b.py is changed",
        "d.py is gone",
        "e.py is new",
        "mine is version '1.1', it was '1.0'",
    ]
    assert BEFORE.changes(BEFORE) == []
    earlier = Code(BEFORE.files, BEFORE.versions)
    assert earlier.changes(BEFORE) == [], "a file of an earlier version does not name the environment"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (2, r"was run: a\.py is changed, b\.py is changed\. Blocks"),
        (3, r"a\.py is changed, b\.py is changed, c\.py is changed\. Blocks"),
        (4, r"a\.py is changed, b\.py is changed, c\.py is changed, and 1 more\. Blocks"),
    ],
)
def test_three_changes_are_named_and_the_others_are_counted(changed, told, tmp_path):
    files.write(tmp_path / files.CODE, CodeLog((BEFORE,)))
    names = sorted(BEFORE.files)
    now = Code({**BEFORE.files, **dict.fromkeys(names[:changed], "2")}, BEFORE.versions, BEFORE.environment)
    with pytest.raises(CampaignError, match=told):
        _check_code(tmp_path, now, accept=False)
    _check_code(tmp_path, BEFORE, accept=False)
    _check_code(tmp_path, now, accept=True)
    assert files.read(tmp_path / files.CODE, CodeLog).codes == (BEFORE, now)


def test_the_corpus_is_replayed_with_the_first_block_only():
    assert [has_corpus(Block("deque", number, 0, 5)) for number in (0, 1)] == [True, False]


def test_sums_of_tallies_are_in_one_order():
    one, other = Tally(), Tally()
    one.exercised, one.unsure = {"b": 1}, {"b": 1}
    other.exercised, other.unsure = {"a": 1}, {"a": 2}
    for tally in (one, other):
        tally.reasons = {(slug, "why"): count for slug, count in tally.unsure.items()}
    merged = _merged(encode_tally(tally) for tally in (one, other))
    assert list(merged.exercised.items()) == [("a", 1), ("b", 1)]
    assert list(merged.unsure.items()) == [("a", 2), ("b", 1)]


def test_a_baseline_that_crashes_each_time_is_given_up():
    plan = make_plan("c", ["reference"], ["subpartition"], scenarios=120, block=60)
    program = Program(COMPONENTS["subpartition"], NothingToMake())
    block = Block("subpartition", 0, 0, 60)
    result = run_part(plan, block, {"reference": program}, range(60), Watch())
    assert result.tallies["reference"].scenarios == PATIENCE["crashed"]


def test_a_check_has_a_work_for_the_corpus_and_one_for_each_part():
    program = Program(COMPONENTS["deque"], find_implementation("reference"))
    assert [works_of(program, count) for count in (0, 1, PART, PART + 1)] == [1, 2, 2, 3]


def test_a_campaign_in_minutes_has_work_until_they_are_over(tmp_path, monkeypatch):
    now = 100.0
    plan = make_plan("c", ["reference"], ["deque"], minutes=2, block=5)
    course = Course(tmp_path, plan, COMPONENTS, lambda: now, lambda *counts: None)
    now = 1000.0
    assert course.has_work(), "the first wave is run, however late it is"
    begun = [_Work(1, 5, 10, False, 0)]
    monkeypatch.setattr(course, "_known", [None])
    monkeypatch.setattr(course, "_work", lambda: begun[0])
    for moment, more in ((100.0, True), (219.5, True), (220.0, False), (500.0, False)):
        now = moment
        assert course.has_work() == more
    begun[0] = _Work(1, 5, 10, True, 0)
    assert course.has_work(), "a wave between others is missing"
    monkeypatch.setattr(course, "_work", lambda: None)
    assert not course.has_work()


def test_a_lock_names_only_the_process_that_holds_it(tmp_path):
    """What a driver that was killed wrote into the file is gone."""
    (tmp_path / LOCK).write_bytes(b"x" * 200)
    with held(tmp_path):
        written = (tmp_path / LOCK).read_bytes().decode()
        assert written == f"process {os.getpid()} on {socket.gethostname()}"
    assert (tmp_path / LOCK).read_bytes() == b""


def test_the_cure_of_a_damaged_file_names_the_folder_of_the_campaign(tmp_path):
    resume = f"conformance campaign resume {tmp_path}"
    wave, finding = tmp_path / "waves" / "0" / files.WAVE, tmp_path / files.FINDINGS / "deque" / "a.json"
    assert files.cure(wave) == f"Delete the folder {wave.parent}, and run its blocks again with: {resume}"
    finding.parent.mkdir(parents=True)
    finding.write_bytes(b"")
    assert files.cure(finding) == f"Delete this file, and make it again with: {resume}"
    result = tmp_path / files.RESULT
    assert files.cure(result) == f"Delete this file, and add up the blocks again with: {resume}"
    result.write_bytes(b"")
    assert files.cure(finding) == f"Delete this file and {result}, and make it again with: {resume}"
    work = tmp_path / files.RESULTS / "a.json"
    assert files.cure(work) == "Delete this file, and run the same command again."


def test_what_python_runs_as_a_module_has_the_name_of_the_module(monkeypatch):
    class Mine:
        pass

    assert name_of(Code) == "conformance.campaigns.code:Code"
    Mine.__module__ = "__main__"
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", ModuleSpec("tests.mine", None))
    assert name_of(Mine).startswith("tests.mine:")
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    assert name_of(Mine).startswith("__main__:")


def test_a_watch_adds_up_what_each_implementation_took(monkeypatch):
    moments = iter([0.0, 10.0, 11.0, 13.0, 17.0, 20.0])
    monkeypatch.setattr("conformance.campaigns.seconds.time.monotonic", lambda: next(moments))
    watch = Watch()
    watch.begin()
    for name in ("a", "b", "a"):
        watch.lap(name)
    watch.add({"b": 0.5, "c": 1.0})
    assert watch.read() == (20.0, {"a": 5.0, "b": 2.5, "c": 1.0})


def test_each_finding_has_one_cause_and_each_of_a_cause_but_the_first_a_reason():
    scenario = Scenario("deque", COMPONENTS["deque"].configs[0], ())
    one, other = (
        FindingResult(slug, FailureClass.LOST, "poll", 1, "this", "that", 0, encode(scenario), "0" * 16)
        for slug in ("one", "other")
    )

    def result(*findings: FindingResult, causes: tuple[CauseResult, ...] | None) -> ImplementationResult:
        part = ComponentResult("deque", 1, 1, 1, (), findings)
        return ImplementationResult("mine", "1.0", (part,), causes)

    def cause(*findings: FindingResult, why: tuple[str, ...]) -> CauseResult:
        return CauseResult(tuple(finding_name_of("deque", finding) for finding in findings), why, ())

    together = result(one, other, causes=(cause(other, one, why=("why",)),))
    _check_causes(together)
    assert [[found.slug for found in each.found] for each in causes_of(together)] == [["other", "one"]]
    earlier = result(one, other, causes=None)
    _check_causes(earlier)
    assert [[found.slug for found in each.found] for each in causes_of(earlier)] == [["one"], ["other"]]
    for findings, causes in (
        ((one, other), (cause(one, why=()),)),
        ((one,), (cause(one, why=()), cause(one, why=()))),
        ((one, one), (cause(one, why=()), cause(one, why=()))),
    ):
        with pytest.raises(ValueError, match="the causes of mine do not name each of its findings once"):
            _check_causes(result(*findings, causes=causes))
    for why in ((), ("why", "and why")):
        with pytest.raises(ValueError, match=f"a cause of mine has 2 findings and {len(why)} reasons"):
            _check_causes(result(one, other, causes=(cause(one, other, why=why),)))


def test_adapters_with_one_file_name_are_two_files(tmp_path, monkeypatch):
    """Seen: all examples are called `adapter.py`, and a change of the first of two was not noticed."""
    monkeypatch.chdir(tmp_path)
    names = Names()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "adapter.py").write_text(DESCRIBES)
    adapters = [f"episodes:{sys.executable} {folder}/adapter.py" for folder in ("a", "b")]
    before = code_by_names(adapters, names)
    (tmp_path / "a" / "adapter.py").write_text(f"{DESCRIBES}# changed\n")
    assert before.changes(code_by_names(adapters, names)) == ["adapter (a/adapter.py) is changed"]
