from __future__ import annotations

import itertools
import json
from contextlib import contextmanager

import pytest

from conformance.campaigns import (
    Advance,
    CampaignError,
    CampaignInterrupted,
    Inline,
    Names,
    Plan,
    Processes,
    RunnerUnavailable,
    causes_of,
    load,
    make_plan,
    resume,
    rounds,
    start,
    status,
)
from conformance.campaigns.apart import attempt_block
from conformance.campaigns.campaign import finish
from conformance.campaigns.files import read
from conformance.campaigns.runners import Here, doing_here
from conformance.campaigns.seconds import Seconds
from conformance.campaigns.waves import SUM, numbers
from conformance.components import COMPONENTS
from conformance.driver import ANSWERS
from conformance.engines import lasting, replay
from conformance.ports import find_implementation
from conformance.scenarios import SchemaError, canonical, decode_scenario
from tests.campaigns.dying import MARK
from tests.campaigns.edited import table_files, wave_file
from tests.campaigns.ended import in_waves_of_one
from tests.system.test_processes import children

SUITE = Names()
NAMES = ("reference", "reference-recover-first", "known-bug:B-01")
PLAN = make_plan("campaign", NAMES, ("deque", "subpartition"), scenarios=120, budget=300)


@pytest.fixture(scope="module")
def inline(tmp_path_factory):
    """The folder of a campaign that ran inline."""
    folder = tmp_path_factory.mktemp("inline") / "campaign"
    start(folder, PLAN, Inline())
    return folder


def test_the_result_is_canonical_and_complete(inline):
    text = (inline / "result.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    assert text == canonical(raw) + "\n"
    assert list(raw) == ["checksum", "differences", "implementations", "lost_blocks", "plan", "schema", "seed"]
    assert [one["name"] for one in raw["implementations"]] == list(NAMES)
    assert raw["implementations"][2]["components"][1]["component"] == "subpartition"
    (*clean, bug) = load(inline).implementations
    assert all(not part.findings for one in clean for part in one.components)
    assert all(part.scenarios == 120 for one in (*clean, bug) for part in one.components)
    assert load(inline).differences
    assert load(inline).lost_blocks == ()


def test_a_finding_replays(inline):
    raw = json.loads((inline / "result.json").read_text(encoding="utf-8"))
    findings = raw["implementations"][2]["components"][1]["findings"]
    assert findings
    assert [one["id"] for one in findings] == sorted(one["id"] for one in findings)
    for one in findings:
        scenario = decode_scenario(json.dumps(one["scenario"]), COMPONENTS)
        found = replay(scenario, find_implementation("known-bug:B-01")).violation
        assert found is not None
        assert list(found.signature) == [one["property"], one["class"], one["operation"]]
        assert len(scenario.steps) == one["steps"]


def test_every_finding_has_a_cause(inline):
    """`causes_of` returns what the check found, so that a report can be written of it."""
    *clean, bug = load(inline).implementations
    assert all(causes_of(one) == () for one in clean)
    causes = causes_of(bug)
    assert sorted(one.signature for cause in causes for one in cause.found) == sorted(
        (one.property, one.failure_class.value, one.operation) for part in bug.components for one in part.findings
    )
    for cause in causes:
        assert len(cause.why) == len(cause.found) - 1
        assert replay(cause.shortest.scenario, find_implementation(bug.name)).violation is not None


def test_the_result_of_an_earlier_version_knows_no_numbers_of_scenarios(inline, tmp_path):
    result = load(inline)
    raw = json.loads((inline / "result.json").read_text(encoding="utf-8"))
    findings = [found for one in raw["implementations"] for part in one["components"] for found in part["findings"]]
    numbers = [found.pop("first") for found in findings]
    del raw["checksum"]
    assert any(isinstance(number, int) for number in numbers)
    (tmp_path / "result.json").write_text(canonical(raw) + "\n", encoding="utf-8")
    older = load(tmp_path)
    assert older.plan == result.plan
    assert {found.first for part in older.implementations[2].components for found in part.findings} == {None}


def test_processes_come_to_the_same_bytes(inline, tmp_path):
    start(tmp_path / "c", PLAN, Processes(2))
    assert (tmp_path / "c" / "result.json").read_bytes() == (inline / "result.json").read_bytes()


class Backwards(Inline):
    """Runs blocks and reduces failures in another order than it was asked for."""

    @contextmanager
    def opened(self, plan):
        def run_all(blocks, keep):
            for block in reversed(list(blocks)):
                keep(attempt_block(plan, block, self.names), Seconds(1.0))

        def do_all(function, works, keep):
            doing_here(self.names)(function, works[::-1], keep)

        yield Here(self.names, 5, run_all, do_all)


def test_another_order_comes_to_the_same_bytes(inline, tmp_path):
    start(tmp_path / "c", PLAN, Backwards())
    assert (tmp_path / "c" / "result.json").read_bytes() == (inline / "result.json").read_bytes()


def test_progress_counts_over_all_implementations(tmp_path):
    seen: list[Advance] = []
    plan = make_plan("p", NAMES[:2], ["deque"], scenarios=8)
    start(tmp_path / "c", plan, Inline(), seen.append)
    counts = [(one.done, one.committed, one.blocks, one.scenarios) for one in seen]
    assert counts == [*((n, 0, 8, 2 * n) for n in range(1, 9)), (8, 8, 8, 16)]


# ---- goals -----------------------------------------------------------------------------------------------------------
@pytest.mark.slow  # three campaigns
def test_steps_are_reached_with_few_blocks_and_every_runner_ends_after_the_same(tmp_path, monkeypatch):
    """Where a round ends depends on no runner and on no wave: only then it is asked whether the goal is reached."""
    plan = make_plan("s", NAMES[:1], steps=1000, block=5)
    result = start(tmp_path / "a", plan, Inline())
    steps = sum(part.steps for part in result.implementations[0].components)
    assert steps >= 1000
    ran = status(tmp_path / "a").blocks
    assert ran < (plan.number_of_blocks or 0)
    assert ran % len(plan.components) == 0
    in_waves_of_one(monkeypatch)
    start(tmp_path / "b", plan, Backwards())
    assert status(tmp_path / "b").blocks == ran
    assert (tmp_path / "b" / "result.json").read_bytes() == (tmp_path / "a" / "result.json").read_bytes()


def test_a_goal_in_steps_is_not_missed_by_much(tmp_path):
    plan = make_plan("s", NAMES[:1], ["deque", "subpartition"], steps=5000, block=3)
    result = start(tmp_path / "c", plan, Inline())
    steps = sum(part.steps for part in result.implementations[0].components)
    assert 5000 <= steps < 6000


@pytest.mark.slow  # a campaign of blocks that fail
def test_a_goal_in_steps_ends_also_if_nothing_works(tmp_path):
    plan = make_plan("s", ["tests.implementations:NothingToMake"], steps=20, block=10, budget=0)
    result = start(tmp_path / "c", plan, Inline())
    (part,) = result.implementations[0].components
    assert (part.scenarios, part.steps, len(part.findings)) == (20, 0, 1)


def test_no_wave_begins_after_the_time_is_up(tmp_path, monkeypatch):
    plan = make_plan("m", NAMES[:1], ["deque"], minutes=1, block=3)
    in_waves_of_one(monkeypatch)
    now = 0.0

    def tick(state):
        nonlocal now
        now += 25 if state.committed == state.done else 0

    result = start(tmp_path / "c", plan, Inline(), tick, clock=lambda: now)
    assert result.implementations[0].components[0].scenarios == 9


def test_the_first_wave_is_run_however_long_it_takes_to_start_a_runner(tmp_path):
    """A night on a cluster that was busy said that a known bug was missed, and had run nothing."""
    plan = make_plan("m", NAMES[:1], ["deque"], minutes=1, block=3)
    hours = itertools.count(0.0, 3_600.0)
    result = start(tmp_path / "c", plan, Inline(), clock=lambda: next(hours))
    assert result.implementations[0].components[0].scenarios == 24


def test_a_wave_is_no_longer_than_the_time_that_is_left(tmp_path, monkeypatch):
    """A block of the first round takes ten seconds, as it seems, so that there is room for two in the last 25."""
    plan = make_plan("m", NAMES[:1], ["deque"], minutes=1, block=3)
    monkeypatch.setattr(rounds, "cost_of", lambda block, total: 10.0)
    now, seen = 0.0, list[int]()

    def tick(state):
        nonlocal now
        if state.committed == state.done:
            seen.append(state.done)
            now += 35

    start(tmp_path / "c", plan, Inline(), tick, clock=lambda: now)
    assert seen == [8, 11]


# ---- what goes wrong -------------------------------------------------------------------------------------------------
def test_a_used_folder_is_refused(inline, tmp_path):
    before = sorted(inline.rglob("*"))
    with pytest.raises(
        CampaignError, match=r"is not empty: it holds a campaign.*Name a folder that does not exist yet"
    ):
        start(inline, PLAN, Inline())
    assert sorted(inline.rglob("*")) == before
    (tmp_path / "letter.txt").touch()
    with pytest.raises(CampaignError, match="holds other files"):
        start(tmp_path, PLAN, Inline())
    with pytest.raises(CampaignError, match=r"letter.txt cannot be made the folder of a campaign"):
        start(tmp_path / "letter.txt", PLAN, Inline())


def test_an_empty_folder_will_do(tmp_path):
    start(tmp_path, make_plan("e", NAMES[:1], ["deque"], scenarios=1), Inline())
    assert load(tmp_path).seed == "e"


def test_ctrl_c_says_where_the_blocks_lie(tmp_path, monkeypatch):
    def watch(state):
        if state.done == 2:
            raise KeyboardInterrupt

    in_waves_of_one(monkeypatch)
    with pytest.raises(CampaignInterrupted, match=r"1 block was committed, and is in .*waves; there is no result"):
        start(tmp_path / "c", PLAN, Inline(), watch)
    assert numbers(tmp_path / "c") == [0]
    with pytest.raises(CampaignError, match=r"result.json does not exist"):
        load(tmp_path / "c")


def test_ctrl_c_before_the_first_block_says_how_to_continue(tmp_path, monkeypatch):
    """To look at the code of an implementation that runs apart takes a while."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    plan, folder = make_plan("e", NAMES[:1], ["deque"], scenarios=1), tmp_path / "c"
    message = r"before it (ran a block|went on)\. Continue with: conformance campaign resume "
    with monkeypatch.context() as patch:
        patch.setattr("conformance.campaigns.campaign.code_of", interrupted)
        for go in (lambda: start(folder, plan, Inline()), lambda: resume(folder, Inline())):
            with pytest.raises(CampaignInterrupted, match=message):
                go()
        patch.setattr("conformance.campaigns.files.write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path / "nothing", plan, Inline())
    assert resume(folder, Inline()).plan == plan


def test_an_interrupt_ends_the_workers(tmp_path):
    def watch(state):
        raise KeyboardInterrupt

    plan = make_plan("i", NAMES, ["gate"], scenarios=2_000, block=20)
    before = children()
    with pytest.raises(CampaignInterrupted, match="No block was committed"):
        start(tmp_path / "c", plan, Processes(2), watch)
    assert children() <= before


def test_a_runner_that_is_unavailable_leaves_no_folder(tmp_path):
    class Unavailable(Inline):
        def opened(self, plan):
            raise RunnerUnavailable("no")

    with pytest.raises(RunnerUnavailable, match=r"^no$"):
        start(tmp_path / "c", PLAN, Unavailable())
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_file_that_was_cut_off_says_so(inline, tmp_path, share):
    whole = (inline / "result.json").read_bytes()
    (tmp_path / "result.json").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(
        SchemaError, match=r"result.json, line 1, column \d+: this is not JSON .*the file is damaged or was cut off"
    ):
        load(tmp_path)


def test_a_file_of_another_kind_says_which_field(inline, tmp_path):
    raw = json.loads((inline / "result.json").read_bytes())
    raw["implementations"][0]["components"][0]["scenarios"] = "many"
    (tmp_path / "result.json").write_text(json.dumps(raw))
    with pytest.raises(SchemaError, match=r"`\$\.implementations\[0\]\.components\[0\]\.scenarios`"):
        load(tmp_path)
    assert read(inline / "plan.json", Plan) == PLAN


def test_a_damaged_sum_is_not_counted_silently(tmp_path):
    plan = make_plan("d", NAMES[:1], ["deque"], scenarios=8)
    start(tmp_path / "c", plan, Inline())
    (table,) = table_files(tmp_path / "c", SUM)
    whole = table.read_bytes()
    table.write_bytes(whole[:100])
    with pytest.raises(SchemaError, match=r"part-00000.parquet: .*the checksum is not that of the file"):
        finish(tmp_path / "c", plan, SUITE)
    table.write_bytes(whole)
    wave = wave_file(tmp_path / "c")
    wave.write_bytes(wave.read_bytes().replace(plan.digest.encode(), b"0" * 16))
    with pytest.raises(SchemaError, match=r"wave.json: this is a wave of another plan"):
        finish(tmp_path / "c", plan, SUITE)


class Forgetful(Inline):
    """As executors do that write into a folder of their own machine."""

    @contextmanager
    def opened(self, plan):
        def run_all(blocks, keep):
            for block in list(blocks)[:-1]:
                keep(attempt_block(plan, block, self.names), Seconds(1.0))

        yield Here(self.names, 1, run_all, doing_here(self.names))


class Repeating(Inline):
    @contextmanager
    def opened(self, plan):
        def run_all(blocks, keep):
            for block in (*(every := list(blocks)), every[0]):
                keep(attempt_block(plan, block, self.names), Seconds(1.0))

        yield Here(self.names, 1, run_all, doing_here(self.names))


@pytest.mark.parametrize(
    ("runner", "said"),
    [(Forgetful(), "1 of its 8 blocks are missing"), (Repeating(), "the block deque-0 is there twice")],
    ids=["too few", "too many"],
)
def test_a_wave_that_has_not_each_block_once_is_not_committed(runner, said, tmp_path):
    plan = make_plan("d", NAMES[:1], ["deque", "subpartition"], scenarios=8, block=1)
    with pytest.raises(CampaignError, match=f"{said}.*must see this folder at the same path"):
        start(tmp_path / "c", plan, runner)
    assert numbers(tmp_path / "c") == []


ONCE = make_plan("o", ["tests.campaigns.dying:once"], ["deque"], scenarios=8, block=4)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """The bytes of the result of a campaign in which nobody kills a worker, since that has happened before."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "mark").touch()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(MARK, str(folder / "mark"))
        start(folder / "campaign", ONCE, Inline())
    return (folder / "campaign" / "result.json").read_bytes()


@pytest.mark.parametrize(
    "runner", [pytest.param(Inline(), marks=pytest.mark.slow), Processes(2)], ids=lambda one: one.name
)
def test_a_scenario_whose_worker_somebody_killed_is_run_again_and_is_no_finding(tmp_path, monkeypatch, quiet, runner):
    mark = tmp_path / "mark"
    monkeypatch.setenv(MARK, str(mark))
    start(tmp_path / "killed", ONCE, runner)
    assert mark.exists()
    assert (tmp_path / "killed" / "result.json").read_bytes() == quiet
    (part,) = load(tmp_path / "killed").implementations[0].components
    assert (part.scenarios, part.findings) == (8, ())


@pytest.mark.slow  # each scenario of an implementation is a process that ends
def test_an_implementation_that_ends_its_process_each_time_is_given_up_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(lasting, "MOST", 4)  # each is a new process
    names = ["known-bug:B-01", "tests.campaigns.dying:in_deque"]
    plan = make_plan("k", names, ["deque", "subpartition"], scenarios=40, block=40, budget=100)
    result = start(tmp_path / "c", plan, Processes(2))
    assert result.lost_blocks == ()
    deque, subpartition = result.implementations[0].components
    assert (deque.scenarios, deque.findings, subpartition.scenarios) == (40, (), 40)
    dying = result.implementations[1].components[0]
    (found,) = dying.findings
    assert (found.property, found.failure_class, found.operation) == (ANSWERS, "crashed", "new")
    assert (found.count, dying.scenarios) == (4 + 2, 4)  # half as many again in the corpus
    assert found.observed == "its process exited with status 9 (at new)"
    plan = make_plan("k", names[:1], ["subpartition"], scenarios=40, block=40, budget=100)
    alone = start(tmp_path / "a", plan, Inline())
    assert subpartition.findings == alone.implementations[0].components[0].findings
