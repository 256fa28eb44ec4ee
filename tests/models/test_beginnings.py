"""What each model knows at first: nothing has happened yet, and nothing is owed."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.models.alignment import BarrierAlignment
from conformance.models.consumer import Consumer, Due, KeptError, NumberedConsumer
from conformance.models.credit import Credit, Demand
from conformance.models.input_state import InputState
from conformance.models.lane import Lane, Mark, Recovered, Sent
from conformance.models.recovery import Push
from conformance.ports import Buffer, PriorityAvailable


def known(model: object) -> dict[str, Any]:
    """Returns everything that a model knows, and what the models know of which it is made."""
    slots = [name for kind in type(model).__mro__ for name in getattr(kind, "__slots__", ())]
    values = {name: getattr(model, name) for name in slots}
    ours = "conformance.models"
    return {name: known(one) if type(one).__module__.startswith(ours) else one for name, one in values.items()}


KEPT = {"operation": "", "either": False}
CONSUMER = {
    "awake": False, "expects_priority": False, "probe": False, "raced": False, "empty_takes": 0, "most_empty_takes": 2,
    "kept": KEPT,
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (KeptError(), KEPT),
        (Consumer(), CONSUMER),
        (Consumer(awake=True, most_empty_takes=5), {**CONSUMER, "awake": True, "most_empty_takes": 5}),
        (NumberedConsumer(), {**CONSUMER, "announced": -1, "announced_before": -1, "stale": False}),
        (Due(), {"count": 0, "error": False, "in_flight": False, "priority": False}),
        (Push(), {"in_flight": False, "too_late": False, "upstream_was_missing": False}),
        (Credit(2), {"exclusive": 2, "granted": 0}),
        (Demand(2), {"exclusive": 2, "granted": 0, "required": 0}),
        (
            BarrierAlignment(2),
            {
                "current": 0, "pending": 0, "received": [False, False], "begun": False, "unaligned": False,
                "overdue": False, "ended": [False, False], "triggered": {}, "declined": [], "last": 0, "started": 0,
                "stopped": 0, "repeated": 0,
            },
        ),
    ],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_nothing_has_happened_yet(model, expected):
    assert known(model) == expected


def test_a_lane_begins_with_what_is_recovered_and_lets_everything_pass():
    lane = Lane((4, 5), passes=False)
    assert [sent.element for sent in lane.waiting] == [Buffer((4,)), Buffer((5,))]
    assert not lane.passes
    assert Lane().passes
    assert (lane.live, lane.urgent, lane.arrived) == ([], [], 0)
    assert (lane.over, lane.blocked, lane.held_back) == (False, False, False)
    assert known(lane.input) == known(InputState())


def test_a_consumer_that_leaves_expects_nothing():
    consumer = Consumer()
    consumer.hear([PriorityAvailable(0)])
    assert consumer.polls_again()
    consumer.leave()
    assert not consumer.polls_again()


def test_a_push_knows_how_it_began():
    push = Push()
    push.begin(released=True, requested=False)
    assert (push.in_flight, push.too_late, push.upstream_was_missing) == (True, True, True)
    push.begin(released=False)
    assert (push.in_flight, push.too_late, push.upstream_was_missing) == (True, False, False)


def test_a_recovered_buffer_is_sure_once_its_push_is_over():
    lane = Recovered()
    lane.begin_push((7,))
    assert (lane.being_pushed(), lane.waiting[-1].sure, lane.pushed) == (Buffer((7,)), False, 1)
    lane.end_push()
    assert lane.waiting[-1].sure
    lane.drop_push()
    assert len(lane.waiting) == 1, "a push that is over is not dropped"
    lane.begin_push((8,))
    lane.drop_push()
    assert [sent.element for sent in lane.waiting] == [Buffer((7,))]


def test_the_model_of_a_mark_and_of_an_element_keep_what_they_are_given():
    assert Mark(3, 7).most == 7
    assert Sent(Buffer((1,)), silent=True).silent
    assert not Sent(Buffer((1,))).silent
    assert not Recovered((1,)).marks
