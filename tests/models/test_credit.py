"""The credit of a producer: what is announced, spent, required by a backlog and lost."""

from __future__ import annotations

from conformance.models.credit import Credit, Demand


def test_credit_is_what_was_announced_less_what_was_sent():
    credit = Credit(2)
    assert credit.granted == 0
    credit.open()
    credit.granted += 3
    credit.spend()
    assert credit.granted == 4
    credit.end()
    assert credit.granted == 0


def test_only_credit_without_exclusive_buffers_is_lost():
    for kind in Credit, Demand:
        for exclusive, left in (0, 0), (2, 3):
            credit = kind(exclusive)
            credit.granted = 3
            credit.lose()
            assert credit.granted == left


def test_a_backlog_requires_the_exclusive_buffers_too_and_shrinks_with_what_is_sent():
    demand = Demand(2)
    demand.hear_backlog(3)
    assert (demand.required, demand.backlog()) == (5, 3)
    for _ in range(4):
        demand.spend()
    assert (demand.granted, demand.required, demand.backlog()) == (-4, 1, 0)


def test_lost_credit_requires_nothing_and_neither_does_an_end():
    demand = Demand(0)
    demand.hear_backlog(3)
    demand.lose()
    assert demand.required == 0
    kept = Demand(1)
    kept.hear_backlog(3)
    kept.lose()
    assert kept.required == 4
    kept.end()
    assert (kept.granted, kept.required) == (0, 0)
