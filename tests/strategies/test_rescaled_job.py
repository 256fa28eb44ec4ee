"""A chain of random rescales loses, doubles and reorders nothing."""

from __future__ import annotations

from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, seed, settings

from conformance.ports import EdgeKind, Recovery, framing
from conformance.ports.framing import Record
from strategies import RescalePlan, Texts, rescale_plans
from strategies.texts import TEXTS
from tests import implementations as made
from tests.strategies.rescaled_job import InFlight, compare, run, sent

RECOVERIES = [Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED]
EVERY = pytest.mark.parametrize("recovery", RECOVERIES)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the bytes of records stands what they say, in place of the padding."""
    say(monkeypatch, TEXTS)


def say(monkeypatch: pytest.MonkeyPatch, texts: Texts) -> None:
    monkeypatch.setattr(framing, "_padding", texts.body)


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize("kind", [EdgeKind.HASH, EdgeKind.CUSTOM, EdgeKind.REBALANCE, EdgeKind.GLOBAL])
@EVERY
def test_a_chain_of_rescales_keeps_every_record(kind, recovery):
    @seed(1)
    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(rescale_plans(), st.integers(0, 2**32))
    def check(plan, number):
        run(made.reference(), plan, 60, 30, number, recovery, kind)

    check()


@pytest.mark.slow
@pytest.mark.usefixtures("said")
@EVERY
def test_five_rescales_keep_a_hundred_thousand_records(recovery):
    """Slow: each record is written and read in every rescale, by Python."""
    random = Random(f"five rescales/{recovery}")
    plan = RescalePlan(tuple(random.randint(1, 7) for _ in range(6)))
    flying = run(made.reference(), plan, 100_000, 10_000, random.randrange(2**32), recovery)
    assert sum(map(len, flying.values())) == 100_000


def histories(monkeypatch: pytest.MonkeyPatch, texts: Texts) -> tuple[bytes, list[InFlight]]:
    say(monkeypatch, texts)
    found = [run(made.reference(), RescalePlan((3, 5, 2)), 300, 40, 9, recovery) for recovery in RECOVERIES]
    return framing.encode(Record(17, 4, 60)), found


def test_other_texts_of_the_same_length_change_nothing(monkeypatch):
    (one, found), (other, again) = (
        histories(monkeypatch, texts) for texts in (Texts(), Texts(seed=7, locales=("ko_KR", "el_GR")))
    )
    assert one != other
    assert len(one) == len(other) == 60
    assert found == again


# ---- the comparison --------------------------------------------------------------------------------------------------
BEFORE = sent(40, 10, 2, Random(1))
MOVED = {(subtask, channel): BEFORE[subtask, channel] for subtask in (0, 1) for channel in (0, 1)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda records: records[1:], "lost: record"),
        (lambda records: (*records, records[0]), "doubled: record"),
        (lambda records: (records[1], records[0], *records[2:]), "reordered: record"),
        (lambda records: (Record(records[0].id, 99, 40), *records[1:]), "changed: record"),
    ],
)
def test_the_comparison_sees(wrong, said):
    compare(BEFORE, MOVED, 2, EdgeKind.HASH)
    with pytest.raises(AssertionError, match=said):
        compare(BEFORE, {**MOVED, (0, 0): wrong(MOVED[0, 0])}, 2, EdgeKind.HASH)


def test_the_comparison_sees_a_record_that_another_subtask_owns():
    exchanged = {**MOVED, (0, 0): MOVED[1, 0], (1, 0): MOVED[0, 0]}
    compare(BEFORE, exchanged, 2, EdgeKind.CUSTOM)
    with pytest.raises(AssertionError, match="misplaced: record"):
        compare(BEFORE, exchanged, 2, EdgeKind.HASH)
