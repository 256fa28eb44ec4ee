"""A changed copy of the reference is searched, and compared with the reference."""

from __future__ import annotations

import pytest

from conformance.engines.interruption import NEVER
from conformance.engines.position import unfollowed
from conformance.ports import UnusableImplementation, find_known_bug
from tests.hunts import sought
from tests.hunts.sought import CANNOT_BE_LOADED, DOES_NOT_END, Seen, Sought

COUNT = """--- network/prioritized_deque.py
@@ def poll
-        self.priority = max(self.priority - 1, 0)
+        {}
"""
LONGER = """--- network/prioritized_deque.py
@@ def poll
         if not self.elements:
+            self.nothing = True
             return None
"""


def seek(change, component="deque", scenarios=40, compared=0):
    return Sought(component, change, "sought", scenarios, compared).do(NEVER, unfollowed)


def test_a_defect_is_found_by_a_property_after_so_many_scenarios():
    seen = seek(COUNT.format("self.priority -= 1"))
    assert (seen.found_by, seen.differs) == ("priority-elements-are-counted-right", 0)
    assert 1 <= seen.scenarios <= 40


def test_what_changes_no_history_ends_behind_the_scenarios_that_are_compared():
    assert seek(LONGER, compared=5) == Seen("", 5, 0)
    assert seek(LONGER) == Seen("", 40, 0)


def test_a_change_elsewhere_is_compared_and_judged():
    seen = seek(COUNT.format("pass"), component="gate", compared=40)
    assert seen.differs or seen.found_by
    assert seen.scenarios > 0


def test_what_cannot_be_loaded_is_noticed():
    assert seek(COUNT.format("this is no Python")) == Seen(CANNOT_BE_LOADED)


def test_an_operation_that_does_not_end_fails(monkeypatch):
    monkeypatch.setattr(sought, "SECONDS", 0.2)
    assert seek(COUNT.format("while True: pass")).found_by == "operations-return-what-the-interface-says"


def test_what_does_not_end_is_no_failure_of_a_task_that_is_restarted(monkeypatch):
    """A task of this job works for ever, and would take an error for its own."""
    monkeypatch.setattr(sought, "SECONDS", 1)
    found = seek(find_known_bug("B-L38").change, "pipeline").found_by
    assert found in ("operations-return-what-the-interface-says", DOES_NOT_END)


def test_a_change_that_does_not_fit_is_an_error():
    with pytest.raises(UnusableImplementation, match=r"network/prioritized_deque\.py"):
        seek(COUNT.replace("- 1, 0)", "- 1, 5)"))
