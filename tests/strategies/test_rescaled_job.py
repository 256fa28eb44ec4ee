"""A chain of random rescales loses, doubles and reorders nothing."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, seed, settings

from conformance.engines import read_scenario
from conformance.ports import EdgeKind, Implementation, PortError, Recovery, find_implementation, framing, known_bugs
from conformance.ports.framing import Record
from reference_impl.state.filter import channel_state
from strategies import RescalePlan, Texts, rescale_plans
from strategies.texts import TEXTS
from tests import implementations as made
from tests.pages import ROOT
from tests.strategies.rescaled_job import InFlight, Job, compare, run

RECOVERIES = [Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED]
HASH, CUSTOM, REBALANCE, GLOBAL = EdgeKind.HASH, EdgeKind.CUSTOM, EdgeKind.REBALANCE, EdgeKind.GLOBAL
EDGES = [(HASH,), (CUSTOM,), (REBALANCE,), (HASH, HASH), (REBALANCE, HASH), (HASH, GLOBAL)]
PLANS = st.tuples(rescale_plans(), rescale_plans())
EVERY = pytest.mark.parametrize("recovery", RECOVERIES)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the bytes of records stands what they say, in place of the padding."""
    say(monkeypatch, TEXTS)


def say(monkeypatch: pytest.MonkeyPatch, texts: Texts) -> None:
    monkeypatch.setattr(framing, "_padding", texts.body)
    monkeypatch.setattr(channel_state, "encoded", framing.encode)  # remembers nothing


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize("kinds", EDGES, ids="-".join)
@EVERY
def test_a_chain_of_rescales_keeps_every_record(kinds, recovery):
    @seed(1)
    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(PLANS, st.integers(0, 2**32))
    def check(plans, number):
        run(made.reference(), plans, 60, 30, number, recovery, kinds)

    check()


@pytest.mark.slow
@pytest.mark.usefixtures("said")
@EVERY
def test_five_rescales_keep_a_hundred_thousand_records(recovery):
    """Slow: each record is written and read in every rescale, by Python."""
    random = Random(f"five rescales/{recovery}")
    plans = [RescalePlan(tuple(random.randint(1, 7) for _ in range(6))) for _ in ("producer", "consumer")]
    flying = run(made.reference(), (plans[0], plans[1]), 100_000, 10_000, random.randrange(2**32), recovery)
    assert sum(map(len, flying.values())) == 100_000


def histories(monkeypatch: pytest.MonkeyPatch, texts: Texts) -> tuple[bytes, list[InFlight]]:
    say(monkeypatch, texts)
    plans = RescalePlan((2, 2, 4)), RescalePlan((3, 5, 2))
    found = [run(made.reference(), plans, 300, 40, 9, recovery) for recovery in RECOVERIES]
    return framing.encode(Record(17, 4, 60)), found


def test_other_texts_of_the_same_length_change_nothing(monkeypatch):
    (one, found), (other, again) = (
        histories(monkeypatch, texts) for texts in (Texts(), Texts(seed=7, locales=("ko_KR", "el_GR")))
    )
    assert one != other
    assert len(one) == len(other) == 60
    assert found == again


# ---- known bugs ------------------------------------------------------------------------------------------------------
LOSING = ("lost", "duplicated", "reordered")
ELSEWHERE = {
    "a-channel-is-left-as-its-virtual-channels-are", "a-checkpoint-fails-with-what-it-reads",
    "a-checkpoint-has-what-was-not-taken", "markers-do-not-multiply", "nothing-of-an-unknown-virtual-channel-is-taken",
    "state-that-ends-inside-an-element-is-an-error", "the-last-minimum-is-passed-on",
}  # fmt: skip
"""Properties of what is not in a chain: checkpoints during recovery, watermarks, statuses and markers, damaged state,
and virtual channels that nobody knows."""
NOT_IN_A_CHAIN = {
    "B-A35": "it needs a vertex with several producers; here, all gates belong to edges of the same two vertices",
    "B-A201": "it needs an edge that is chained when the job is restored; here, both vertices stay apart",
    "B-A411": "it needs an edge that is chained when the job is restored; here, both vertices stay apart",
    "B-A36": "it needs state that is held after it was said how the job is rescaled; here, it is held before",
    "B-F67": "it needs a take before everything was read",
    "B-F123": "in a chain, an old subtask that is not ambiguous has only records of its own key groups",
    "B-A33": "it needs two keyed consumers with different maximum parallelisms",
    "B-A20": "it shows where producers recover their output state; here, the consumer recovers it",
}


def losing() -> list[str]:
    """The known bugs of assignment and filter whose scenario in the corpus shows that records are lost, doubled or
    reordered, in a way that a chain could."""
    found = []
    for bug in known_bugs():
        if bug.component in ("assignment", "filter"):
            shown = read_scenario(ROOT / "tests" / "corpus" / f"{bug.id}.json")
            assert shown.finding is not None
            if shown.finding.failure_class in LOSING and bug.property not in ELSEWHERE:
                found.append(bug.id)
    return found


def jobs() -> Iterator[tuple[tuple[RescalePlan, RescalePlan], tuple[EdgeKind, ...], dict[str, Any]]]:
    """Chains of five random rescales on each kind of edges; and one of a job with many key groups."""
    random = Random("known bugs")

    def plan() -> RescalePlan:
        return RescalePlan(tuple(random.randint(1, 4) for _ in range(6)))

    for _ in range(12):
        yield from (((plan(), plan()), kinds, {"count": 60, "keys": 30}) for kinds in EDGES)
    many = RescalePlan((1, 1)), RescalePlan((263, 200))
    yield many, (HASH,), {"count": 3_000, "keys": 100_000, "max_parallelism": 600}


def run_all(on: Implementation) -> None:
    for number, (plans, kinds, options) in enumerate(jobs()):
        run(on, plans, seed=number, recovery=RECOVERIES[(number + number // len(EDGES)) % 3], kinds=kinds, **options)


@pytest.mark.parametrize("bug", [bug for bug in losing() if bug not in NOT_IN_A_CHAIN])
def test_a_known_bug_that_loses_doubles_or_reorders_is_caught(bug):
    with pytest.raises((AssertionError, PortError)):
        run_all(find_implementation(f"known-bug:{bug}"))


def test_only_known_bugs_are_left_out():
    assert {*NOT_IN_A_CHAIN} <= {*losing()}


def test_the_reference_passes_the_chains_of_the_known_bugs():
    run_all(made.reference())


# ---- the comparison --------------------------------------------------------------------------------------------------
def in_flight() -> InFlight:
    job = Job(made.reference(), (HASH,), (2, 2), Recovery.IN_MEMORY, Random(1))
    job.send(40, 10)
    return job.flying


BEFORE = in_flight()
FIRST, OTHER = (0, 0, 0), (0, 1, 0)


def by_key(record: Record, nth: int, before: tuple[int, int, int]) -> int:
    return before[1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda records: records[1:], "lost: record"),
        (lambda records: (*records, records[0]), "doubled: record"),
        (lambda records: (records[1], records[0], *records[2:]), "reordered: record"),
        (lambda records: (Record(records[0].id, 99, 40), *records[1:]), "changed: record"),
        (lambda records: (Record(99, 1, 40), *records), "misplaced: record 99"),
    ],
)
def test_the_comparison_sees(wrong, said):
    compare(BEFORE, BEFORE, by_key)
    with pytest.raises(AssertionError, match=said):
        compare(BEFORE, {**BEFORE, FIRST: wrong(BEFORE[FIRST])}, by_key)


def test_the_comparison_sees_a_record_that_another_subtask_owns():
    exchanged = {**BEFORE, FIRST: BEFORE[OTHER], OTHER: BEFORE[FIRST]}
    compare(BEFORE, exchanged, lambda record, nth, before: None)
    with pytest.raises(AssertionError, match="misplaced: record"):
        compare(BEFORE, exchanged, by_key)
