"""The record of a blind hunt, and its page."""

from __future__ import annotations

import msgspec
import pytest

from conformance.components import COMPONENTS
from conformance.engines.works import alone
from conformance.ports import known_bugs, legal_variants
from tests.hunts.export import blind
from tests.hunts.hunting import RECORDS, Record, Tried, is_real, page, read, text_of, try_all

DEFECTS = '''
component = "deque"

[[defect]]
id = "H0-D1"
promise = "D5"
summary = "A poll leaves the count of priority elements as it was."
run = "A priority element is added and polled."
change = """
--- network/prioritized_deque.py
@@ def poll
-        self.priority = max(self.priority - 1, 0)
"""

[[defect]]
id = "H0-D2"
promise = "D9"
summary = "An empty deque remembers that it was polled."
run = "An empty deque is polled."
change = """
--- network/prioritized_deque.py
@@ def poll
         if not self.elements:
+            self.nothing = True
             return None
"""
'''


def test_a_hunt_records_what_was_found_and_whether_anything_came_to_the_rest(tmp_path):
    (tmp_path / "deque.toml").write_text(DEFECTS, encoding="utf-8")
    found, missed = try_all(list(read(tmp_path)), alone, 30, ["deque", "persister"])
    assert (found.id, found.found_by) == ("H0-D1", "priority-elements-are-counted-right")
    assert (missed.was_found, missed.differs, missed.scenarios) == (False, 0, 30)
    record = Record("today", 30, (found, missed))
    assert msgspec.json.decode(text_of(record), type=Record) == record


def test_a_file_of_defects_says_where_it_is_wrong(tmp_path):
    (tmp_path / "deque.toml").write_text(DEFECTS.replace("summary", "sumary", 1), encoding="utf-8")
    with pytest.raises(ValueError, match=r"deque.toml: .*sumary"):
        list(read(tmp_path))


def test_the_page_counts_what_is_a_defect():
    tried = (
        Tried("H0-1", "gate", "G1", "One.", "a-rule", 7),
        Tried("H0-2", "gate", "G2", "Two.", elsewhere="chain: another-rule"),
        Tried("H0-3", "gate", "G3", "Three.", differs=9, ruling="The rule looked at one side.", now="B-1"),
        Tried("H0-4", "gate", "G4", "Four.", now="V-1", ruling="FG1 allows it."),
        Tried("H0-5", "gate", "G5", "Five.", ruling="Nothing changes: the list is never empty."),
        Tried("H0-6", "gate", "G6", "Six.", "a-rule", 3, now="B-0"),
    )
    kinds = {"B-0": "own", "B-1": "hunt-1", "V-1": "variant"}
    assert [is_real(one, kinds) for one in tried] == [True, True, True, False, False, True]
    shown = page({"1": Record("today", 20_000, tried)}, kinds)
    assert "| 1 | today | 6 | 2 | 4 | 3 | 75 % | 1 | 1 | 67 % |" in shown
    assert "| H0-3 | gate | G3 | Three. | 9 | B-1 | The rule looked at one side. |" in shown
    assert "H0-1" not in shown


def test_the_records_of_hunts_name_components_and_what_became_of_each_survivor():
    assert len(list(RECORDS.glob("*.json"))) >= 3
    for file in RECORDS.glob("*.json"):
        for one in msgspec.json.decode(file.read_bytes(), type=Record).tried:
            assert one.component in COMPONENTS, one.id
            assert one.was_found or one.ruling, f"{file.name}: {one.id} was not found, and nobody says why"


def test_each_defect_is_in_a_catalogue_or_its_text_is_still_kept():
    catalogued = {*(bug.id for bug in known_bugs()), *(one.id for one in legal_variants())}
    for file in RECORDS.glob("*.json"):
        kept = {one.id for _, one in read(RECORDS / file.stem)}
        for one in msgspec.json.decode(file.read_bytes(), type=Record).tried:
            assert one.now in catalogued or one.id in kept or one.ruling.startswith("Nothing changes:"), one.id


def test_what_is_exported_names_no_property_and_no_known_bug():
    chapter = "It waits. B-12 does the same. Then more.\n\n<!-- generated: judged -->\n| x |\n<!-- end -->\nEnd.\n"
    assert blind(chapter) == "It waits. Then more.\n\nEnd.\n"
