"""What the rounds before have not judged decides at what the scenarios of a round are aimed."""

from __future__ import annotations

import pytest

from conformance.campaigns import CampaignInterrupted, Inline, Processes, files, load, make_plan, resume, start
from conformance.campaigns.block import run_block
from conformance.campaigns.names import Names
from conformance.campaigns.rounds import aims_after
from conformance.campaigns.waves import newest, sum_of
from conformance.components import COMPONENTS
from tests.campaigns.ended import in_waves_of_one

PLAN = make_plan("aims", ["reference"], ["remote-channel"], scenarios=120, block=5, aims=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "campaign"
    start(folder, PLAN, Inline())
    return folder


@pytest.mark.parametrize("runner", [Inline(), pytest.param(Processes(2), marks=pytest.mark.slow)])
def test_a_campaign_that_is_stopped_in_a_round_goes_on_with_the_aims_of_its_begin(whole, tmp_path, monkeypatch, runner):
    in_waves_of_one(monkeypatch)

    def stop(state):
        if state.committed == 11:
            raise KeyboardInterrupt

    with pytest.raises(CampaignInterrupted):
        start(tmp_path / "c", PLAN, Inline(), stop)
    resume(tmp_path / "c", runner)
    assert (tmp_path / "c" / files.RESULT).read_bytes() == (whole / files.RESULT).read_bytes()


def test_there_are_aims_behind_the_first_round_only_and_they_change_what_is_run(whole, tmp_path):
    plan = make_plan("aims", ["reference"], ["remote-channel"], scenarios=40, block=5, aims=True)
    start(tmp_path / "c", plan, Inline())
    total = sum_of(tmp_path / "c", plan, newest(tmp_path / "c", plan), COMPONENTS)
    plain = make_plan("aims", ["reference"], ["remote-channel"], scenarios=40, block=5)
    start(tmp_path / "plain", plain, Inline())
    assert load(tmp_path / "c").implementations == load(tmp_path / "plain").implementations, "the first round"
    aims = aims_after(PLAN, total, COMPONENTS)["remote-channel"]
    assert aims
    block = PLAN.block_at(8)
    aimed = run_block(PLAN, type(block)(block.component, block.number, block.first, block.count, (), aims), Names())
    assert aimed.tallies != run_block(PLAN, block, Names()).tallies
    assert aims_after(plain, total, COMPONENTS) == {}
