"""The measurement of what whole jobs reach of the known bugs of other components."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.ports import find_implementation, find_known_bug
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from tests.engines.reach import PACKAGE, Baseline, Reach, functions, is_used, limited, reach, report

PULLED = "network/local_channel.py"


@pytest.fixture(scope="module")
def package():
    return Package(PACKAGE, CATALOGUES)


def test_a_module_consists_of_its_functions_and_all_else():
    text = "ONE = 1\n\nclass A:\n    two = 2\n\n    class B:\n        async def c(self): ...\n\ndef d(): ...\n"
    known = functions(text)
    assert set(known) == {"", "A.B.c", "d"}
    assert [name for name, part in functions(text.replace("= 2", "= 3")).items() if part != known[name]] == [""]
    assert [name for name, part in functions(text.replace("(self): ...", "(self): c")).items() if part != known[name]]


def test_a_bug_is_used_if_jobs_call_a_function_that_it_changes(package):
    bug = replace(find_known_bug("B-06"), change=find_known_bug("B-06-job").change)
    assert is_used(bug, package, {PULLED: frozenset({"LocalChannel.next_element"})})
    assert not is_used(bug, package, {PULLED: frozenset({"LocalChannel.resume"})})
    assert not is_used(bug, package, {"network/gate.py": frozenset({"LocalChannel.next_element"})})


def test_a_bug_of_another_component_is_found_in_jobs():
    found = reach(find_known_bug("B-K2"), Baseline(), scenarios=60)
    assert (found.differs, bool(found.found_by)) == (True, True)
    assert 1 <= found.scenarios <= 60


def test_a_change_that_changes_no_history_does_not_count():
    none = replace(find_known_bug("B-K2"), build=lambda: find_implementation("reference"))
    assert reach(none, Baseline(), scenarios=9, compared=3) == Reach(none, differs=False)


def test_what_hangs_ends():
    def hang():
        while True:
            pass

    with pytest.raises(TimeoutError), limited(0.1):
        hang()


def test_the_page_says_how_many_were_found_of_those_that_count():
    one, two, three = (find_known_bug(name) for name in ("B-K2", "B-06", "B-01"))
    page = report([Reach(one, True, "some-property", 7), Reach(two, True), Reach(three, False)], [], 5)
    assert "1 of 2 that count were found (50 %" in page
    assert "3 were tried in all. 5 more" in page
    assert "| all | 3 | 2 | 1 | 50 % | 7 | 7 |" in page
    missed, found = page.split("## Not found")[1].split("## Found")
    assert "B-06" in missed
    assert "B-K2" in found
    assert "B-01" not in missed + found
