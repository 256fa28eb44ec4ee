"""The measurement of what whole jobs reach of the known bugs of other components."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.engines.works import alone
from conformance.ports import find_known_bug, known_bugs
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from tests.hunts.reach import Reach, changed_functions, functions, is_used, pairs, reach, report
from tests.hunts.sought import PACKAGE, Seen

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


def test_a_bug_is_used_if_a_function_that_it_changes_is_called(package):
    changed = changed_functions(find_known_bug("B-06-job").change, package)
    assert is_used(changed, {PULLED: frozenset({"LocalChannel.next_element"})})
    assert not is_used(changed, {PULLED: frozenset({"LocalChannel.resume"})})
    assert not is_used(changed, {"network/gate.py": frozenset({"LocalChannel.next_element"})})


def test_a_bug_of_another_component_is_found_in_jobs():
    (found,) = reach([("pipeline", find_known_bug("B-K2"))], alone, scenarios=60)
    assert found.counts
    assert found.seen.found_by in {rule.slug for rule in COMPONENTS["pipeline"].properties}
    assert 1 <= found.seen.scenarios <= 60


def test_pairs_are_bugs_of_others_in_code_that_a_component_uses():
    rooms = ["deque", "persister", "local-channel"]
    chosen = [bug for bug in known_bugs() if bug.component in rooms]
    found = pairs(rooms, chosen)
    assert {component for component, _ in found.tried} == set(rooms)
    assert all(bug.component != component for component, bug in found.tried)
    assert all(found.unused.values())
    assert len(found.tried) + sum(found.unused.values()) == 2 * len(chosen)


def test_components_take_turns():
    chosen = [bug for bug in known_bugs() if bug.component in ("deque", "persister", "local-channel")]
    tried = [component for component, _ in pairs(["deque", "persister", "local-channel"], chosen).tried]
    many = max(tried, key=tried.count)
    others = [tried.count(component) for component in {*tried} - {many}]
    assert others
    assert min(others) > 0
    least = min(others)
    assert tried[: least * (len(others) + 1)].count(many) == least


def test_portions_are_tried_one_after_another(monkeypatch):
    asked = []

    def over(works):
        asked.append(len(works))
        return (Seen("some-property", 1) for _ in works)

    monkeypatch.setattr("tests.hunts.reach.PORTION", 2)
    tried = reach([("pipeline", bug) for bug in known_bugs()[:5]], over)
    assert asked == [2, 2, 1]
    assert [one.bug for one in tried] == list(known_bugs()[:5])


def test_the_page_says_how_many_were_found_of_those_that_count():
    one, two, three = (find_known_bug(name) for name in ("B-K2", "B-06", "B-01"))
    tried = [
        Reach("pipeline", one, Seen("some-property", 7)),
        Reach("pipeline", two, Seen("", 150, 3)),
        Reach("pipeline", three, Seen("", 40)),
    ]
    text = report(tried, {"pipeline": 9}, 5, {"pipeline": "Locks cannot be seen."})
    assert "1 of 2 that change a run were found (50 %)" in text
    assert "3 pairs of a component and a bug were tried. 5 more were not" in text
    assert "| all | 9 | 3 | 2 | 1 | 50 % | 7 | 7 |" in text
    missed = text.split("## pipeline")[1]
    assert "Locks cannot be seen." in missed
    assert "B-06" in missed
    assert "B-K2" not in missed
    assert "B-01" not in missed
