"""Which records belong to which checkpoint: barriers, late stops, subsumption, and what nobody can say."""

from __future__ import annotations

from conformance.driver import Broken, FailureClass, Unsure
from conformance.models.input_state import InputState, judge_written


def started(*checkpoints: int) -> InputState:
    state = InputState()
    for checkpoint in checkpoints:
        state.started(checkpoint, (checkpoint * 10,), (checkpoint * 10,))
    return state


def test_what_nobody_asks_for_is_not_distinguished():
    """Known at the start or come later: two runs that lead to the same input state are in the same state."""
    known, came = InputState(), InputState()
    known.started(1, (10, 11))
    came.started(1, (10,))
    came.came((11,))
    assert known.expected(1) == came.expected(1) == (10, 11)
    assert known.states[1].live == came.states[1].live


def test_what_was_known_and_what_came_before_the_barrier_belongs_to_a_checkpoint():
    state = started(1)
    state.came((11, 12))
    state.barrier(1)
    state.came((13,))
    assert state.expected(1) == (10, 11, 12)
    assert state.restorable() == ((1,),)
    assert state.awaited() == 0


def test_a_newer_barrier_subsumes_what_was_not_started():
    state = InputState()
    state.barrier(2)
    assert state.subsumes(1)
    assert not state.subsumes(2)
    state.stopped(2)
    assert not state.subsumes(1)


def test_an_obsolete_barrier_changes_nothing():
    state = started(2)
    state.came((21,))
    state.barrier(1)
    state.came((22,))
    assert state.awaited() == 2
    assert state.expected(2) == (20, 21, 22)
    assert state.states[2].since_old_barrier == 1
    state.barrier(2)
    state.stopped(2)
    assert state.obsolete(2)
    assert not state.obsolete(3)


def test_a_late_stop_of_an_older_checkpoint_ends_nothing():
    state = started(1, 2)
    state.came((21,))
    state.stopped(1)
    state.came((22,))
    assert state.expected(2) == (20, 21, 22)
    assert state.states[2].since_late_stop == 1
    state.stopped(2)
    state.came((23,))
    assert state.expected(2) == (20, 21, 22)


def test_a_checkpoint_whose_barrier_is_here_is_complete_as_it_starts():
    state = InputState()
    state.barrier(3, place=7)
    state.started(3, (30, 31))
    assert state.barrier_at == {3: 7}
    assert state.restorable() == ((3,),)
    state.came((32,))
    assert state.expected(3) == (30, 31)


def test_where_nobody_can_say_nothing_is_judged():
    state = started(1)
    assert isinstance(judge_written(state, 1, (99,)), Broken)
    state.leave_pending_unsure()
    assert isinstance(judge_written(state, 1, (99,)), Unsure)
    assert judge_written(state, 2, ()) is False
    state.leave_unsure()
    assert state.is_unsure(2)


def test_what_was_forgotten_is_neither_judged_nor_restored():
    state = started(1)
    state.forget_pending()
    assert state.restorable() == ()
    assert state.awaited() == 0


def test_in_which_way_a_read_back_is_wrong():
    state = started(1)
    state.came((11, 12))
    assert judge_written(state, 1, (10, 11, 12)) is True
    for got, kind in (
        ((10, 11), FailureClass.LOST),
        ((10, 12, 11), FailureClass.REORDERED),
        ((10, 11, 12, 12), FailureClass.DUPLICATED),
        ((10, 11, 12, 13), FailureClass.DUPLICATED),
    ):
        judged = judge_written(state, 1, got)
        assert isinstance(judged, Broken)
        assert judged.failure_class is kind
