"""Who has found nothing to do since anything else happened."""

from __future__ import annotations

from conformance.parts.quiet import Quiet


def test_all_are_quiet_when_each_has_looked_since_anything_happened():
    quiet: Quiet[str] = Quiet("drainer", "task")
    quiet.look("drainer", True)
    assert (quiet.is_quiet("drainer"), quiet.are_all_quiet()) == (True, False)
    quiet.look("task", True)
    assert quiet.are_all_quiet()


def test_whoever_finds_something_may_have_left_work_for_the_others():
    quiet: Quiet[str] = Quiet("drainer", "task")
    quiet.look("drainer", True)
    quiet.look("task", False)
    assert not quiet.is_quiet("drainer")


def test_nobody_is_quiet_after_something_has_happened():
    quiet: Quiet[str | int] = Quiet("drainer", 0, 1)
    for looker in ("drainer", 0, 1):
        quiet.look(looker, True)
    quiet.stir()
    assert [quiet.is_quiet(looker) for looker in ("drainer", 0, 1)] == [False] * 3
