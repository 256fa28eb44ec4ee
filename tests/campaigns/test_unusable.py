"""What becomes of a campaign whose implementation cannot be made any more: as if a disk were not mounted any more."""

from __future__ import annotations

import pytest

from conformance.campaigns import Advance, CampaignError, Inline, Names, make_plan, resume, start, status
from conformance.ports import Implementation, UnusableImplementation, find_implementation

PLAN = make_plan("unusable", ["reference"], ["deque"], scenarios=16, block=1)
THERE = [True]


def found(name: str) -> Implementation:
    if not THERE[0]:
        raise UnusableImplementation("its disk is not there.")
    return find_implementation(name)


@pytest.fixture(autouse=True)
def is_there():
    THERE[0] = True


def gone_after(blocks: int):
    def watch(state: Advance) -> None:
        THERE[0] = state.done < blocks

    return watch


def test_a_wave_of_which_nothing_could_be_run_is_not_committed(tmp_path):
    """All blocks that were left were committed as lost, in no time, and no resumption ran them again."""
    runner = Inline(Names(found))
    with pytest.raises(
        CampaignError, match=r"not one of the last 8 could be: .*its disk is not there.* Continue with: "
    ):
        start(tmp_path / "c", PLAN, runner, gone_after(8))
    assert (status(tmp_path / "c").blocks, status(tmp_path / "c").lost) == (8, ())
    THERE[0] = True
    assert resume(tmp_path / "c", runner).lost_blocks == ()


def test_an_implementation_that_is_gone_when_it_is_concluded_says_how_to_go_on(tmp_path):
    with pytest.raises(CampaignError, match=r"its disk is not there. 16 blocks were .* Continue with: "):
        start(tmp_path / "c", PLAN, Inline(Names(found)), gone_after(16))
