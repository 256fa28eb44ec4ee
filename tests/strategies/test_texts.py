"""What records say: people read it, and nobody observes it."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.ports import find_implementation
from conformance.ports.framing import Record
from conformance.scenarios import History, encode_history
from strategies import Texts, described, enabled_scenarios, records, virtual_states
from strategies.jobs import RescalePlan
from strategies.records import KINDS
from strategies.texts import LOCALES, TEXTS
from tests.strategies.room import drawn

OTHER = Texts(seed=7, locales=("ko_KR", "el_GR"))


def test_a_record_is_shown_as_people_write_it():
    names = {described(number).removeprefix(f"order {number}, ").partition(",")[0] for number in range(100)}
    assert len(names) > 60
    assert described(17).startswith("order 17, ")
    assert described(17).endswith(" items")
    assert described(18).endswith(", 1 item")
    assert " to " in described(17, "payment")
    assert described(17, "reading").endswith(" °C")


def test_there_are_five_languages():
    said = "".join(described(number) for number in range(40))
    for alphabet in ("az", "ÄÜäü", "ая", "一龯", "अह"):
        assert any(alphabet[0] <= letter <= alphabet[-1] for letter in said), alphabet
    assert len(LOCALES) == 5


def test_a_text_may_be_empty_or_huge():
    sizes = {number: len(TEXTS.text(number)) for number in range(200)}
    empty, huge = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    assert sizes[empty] == 0
    assert sizes[huge] > 10_000
    assert described(empty) == f"order {empty}"
    assert len(described(huge, longest=40)) < 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 17, 64, 4_096])
def test_a_body_has_so_many_bytes_and_whole_characters(kind, length):
    for number in range(130):
        body = TEXTS.body(number, length, kind)
        assert len(body) == length
        body.decode()
        assert length - len(body.rstrip(b" ")) <= 8 or not TEXTS.text(number, kind)


def test_a_body_has_characters_of_one_to_four_bytes():
    said = "".join(TEXTS.body(number, 64).decode() for number in range(100))
    assert {len(letter.encode()) for letter in said} == {1, 2, 3, 4}


def test_records_of_one_size_differ_in_text():
    assert len({TEXTS.body(number, 64) for number in range(100)}) > 90


def test_what_cannot_be_said_is_refused():
    with pytest.raises(ValueError, match="a record is one of order, payment, reading, found 'click'"):
        TEXTS.text(1, "click")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a body cannot have -1 bytes"):
        TEXTS.body(1, -1)


def test_every_process_says_the_same():
    program = "from strategies import Texts; print([Texts().text(number) for number in range(50)])"
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in "12"
    }  # fmt: skip
    assert said == {f"{[TEXTS.text(number) for number in range(50)]}\n"}


def histories(texts: Texts) -> tuple[list[str], list[str]]:
    """What is said of records, and the histories of scenarios that are drawn and run in between."""
    said: list[str] = []
    found: list[str] = []
    program = Program(COMPONENTS["spill"], find_implementation("reference"))
    for state in drawn(virtual_states(RescalePlan((7, 2))), 20):
        said += [described(one.id, texts=texts) for virtual in state for one in virtual.elements if type(one) is Record]
        found.append(repr(state))
    for scenario in drawn(enabled_scenarios("spill", most=20), 20):
        said.append(described(len(scenario.steps), texts=texts))
        run = run_scenario(program, scenario.config, scenario.steps, record=True)
        found.append(encode_history(History(scenario, tuple(run.entries or ())), "reference"))
    return said, found


def test_another_seed_and_other_locales_change_text_alone():
    (said, found), (otherwise, again) = histories(Texts()), histories(OTHER)
    assert found == again
    assert len(said) == len(otherwise) > 40
    assert sum(one != other for one, other in zip(said, otherwise, strict=True)) > len(said) / 2


def test_no_history_has_text():
    said, found = histories(Texts())
    names = {one.partition(", ")[2].partition(",")[0] for one in said} - {""}
    assert names
    assert not any(name in history for history in found for name in names)


def test_text_takes_nothing_from_the_random_numbers_of_others():
    random.seed(1)
    before = random.getstate()
    Texts(seed=3).text(1)
    assert random.getstate() == before


def test_faker_is_imported_for_text_alone():
    program = (
        "import sys, strategies\n"
        "strategies.records().validate()\n"
        "assert 'faker' not in sys.modules\n"
        "strategies.described(1)\n"
        "assert 'faker' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_kinds_have_texts():
    assert len({described(1, kind).partition(", ")[2] for kind in KINDS} - {""}) == len(KINDS)
    assert drawn(records("payment"))
