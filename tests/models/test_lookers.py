"""Who has found nothing to do since anything else happened."""

from __future__ import annotations

from conformance.models.lookers import Lookers


def test_all_have_found_nothing_when_each_has_looked_since_anything_happened():
    lookers: Lookers[str] = Lookers("drainer", "task")
    lookers.look("drainer", True)
    assert (lookers.found_nothing("drainer"), lookers.all_found_nothing()) == (True, False)
    lookers.look("task", True)
    assert lookers.all_found_nothing()


def test_finding_something_may_have_left_work_for_the_others():
    lookers: Lookers[str] = Lookers("drainer", "task")
    lookers.look("drainer", True)
    lookers.look("task", False)
    assert not lookers.found_nothing("drainer")


def test_nobody_is_quiet_after_something_has_happened():
    lookers: Lookers[str | int] = Lookers("drainer", 0, 1)
    for looker in ("drainer", 0, 1):
        lookers.look(looker, True)
    lookers.wake()
    assert [lookers.found_nothing(looker) for looker in ("drainer", 0, 1)] == [False] * 3
