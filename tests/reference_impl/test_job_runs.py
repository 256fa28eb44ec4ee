"""Every supplied record is committed once, whatever fails and whoever works next."""

from collections import Counter

import pytest

from conformance.ports import Recovery
from reference_impl.job.restoring import Shares
from tests.reference_impl.job_runs import RECOVERIES, random_job
from tests.reference_impl.job_topologies import TOPOLOGIES

SEEDS = range(12)


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("fine", [False, True], ids=["whole", "fine"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_record_is_committed_once(recovery, fine, seed):
    """pipeline.md J1 to J17. Whatever fails, in whole and in fine interleavings."""
    random_job(seed, recovery, fine)


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("topology", sorted(TOPOLOGIES))
def test_every_record_is_committed_once_in_every_topology(recovery, topology):
    """pipeline.md J2, J3. With each kind of vertex and edge."""
    for seed in range(3):
        random_job(1_000 + seed, recovery, topology=topology)


def test_checkpoints_are_taken_and_restored_during_recovery():
    """pipeline.md J6, J14. What the random jobs are for comes to pass in them."""
    counts: Counter[str] = Counter()
    for seed in range(0, 60, 2):
        counts += random_job(seed, Recovery.PUSHED, topology="count").counts
    assert counts["with channel state"] > 20
    assert counts["in recovery"] > 5
    assert counts["JobRestarted"] > 50


def test_the_driver_sees_a_record_that_is_committed_twice(monkeypatch):
    """pipeline.md J14. A test that cannot fail says nothing: here a restored task has no state."""
    monkeypatch.setattr(Shares, "states", lambda self, task: ())
    with pytest.raises(AssertionError, match=r"lost|twice|splits|not committed"):
        _ = [random_job(seed, Recovery.RECOVER_FIRST, topology="count") for seed in range(10)]
