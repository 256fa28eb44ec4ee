"""The model of an alignment: when a checkpoint is pending, obsolete and over, and what is overdue."""

from __future__ import annotations

import pytest

from conformance.models.alignment import BarrierAlignment
from conformance.ports import Alignment

ALIGNED, UNALIGNED = Alignment.ALIGNED, Alignment.UNALIGNED


def test_a_checkpoint_is_over_once_it_was_triggered_and_every_barrier_was_received() -> None:
    alignment = BarrierAlignment(2)
    assert not alignment.barrier(0, 1, ALIGNED)
    assert (alignment.pending, alignment.missing()) == (1, [1])
    assert not alignment.barrier(1, 1, ALIGNED)
    assert alignment.trigger(1, unaligned=False)
    assert (alignment.pending, alignment.current) == (0, 1)
    assert alignment.is_obsolete(1)


def test_an_unaligned_checkpoint_stays_pending_until_its_last_barrier() -> None:
    alignment = BarrierAlignment(2)
    alignment.barrier(0, 1, UNALIGNED)
    assert not alignment.trigger(1, unaligned=True)
    assert alignment.is_unaligned()
    assert alignment.pending == 1
    assert alignment.barrier(1, 1, UNALIGNED)


def test_a_declined_checkpoint_is_over_at_once_and_leaves_channels_to_resume() -> None:
    alignment = BarrierAlignment(2)
    alignment.barrier(0, 1, ALIGNED)
    assert alignment.left_blocked([1, 0]) == []
    assert alignment.decline(1)
    assert not alignment.decline(1)
    assert alignment.left_blocked([1, 0]) == [0]


def test_an_older_checkpoint_is_obsolete_and_the_end_of_a_channel_counts_for_the_next() -> None:
    alignment = BarrierAlignment(2)
    alignment.barrier(0, 3, ALIGNED)
    assert [alignment.is_obsolete(one) for one in (2, 3, 4)] == [True, False, False]
    assert not alignment.end_of(1)
    assert alignment.missing(4) == [0]
    assert alignment.trigger(3, unaligned=False)


@pytest.mark.parametrize("first", ["trigger", "decline"])
def test_a_checkpoint_that_is_triggered_again_or_too_late_is_noted(first: str) -> None:
    alignment = BarrierAlignment(1)
    alignment.barrier(0, 2, ALIGNED)
    if first == "trigger":
        alignment.trigger(2, unaligned=False)
    else:
        alignment.decline(2)
    repeated = [alignment.repeated]
    alignment.trigger(1, unaligned=False)
    assert [*repeated, alignment.repeated] == [0, 1]
