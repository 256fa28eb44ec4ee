"""Blocks and sums are rows: nothing is lost in between, and rows add up in any order and grouping."""

from __future__ import annotations

import io
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from conformance.campaigns import Block, Names, Plan, make_plan
from conformance.campaigns.block import BlockResult, lost_block, run_block
from conformance.campaigns.checking import check_block, check_sum
from conformance.campaigns.merge import Sum, fold
from conformance.campaigns.rows import Row, blocks_of, rows_of, timed_blocks_of
from conformance.campaigns.seconds import Seconds
from conformance.campaigns.tables import SCHEMA, SQL_SCHEMA, TableWriter, batch_of, read_table, rows_in
from conformance.components import COMPONENTS

NAMES = ("reference", "reference-recover-first", "known-bug:B-01", "known-bug:B-D1")
PLAN = make_plan("rows", NAMES, ("deque", "subpartition"), scenarios=48, block=8)
BLOCKS = list(PLAN.blocks())
TIMED = Seconds(1.0, {"reference": 0.5, "known-bug:B-01": 0.25})
"""Of the other two, nobody knows how long they took."""
QUICK = settings(max_examples=40, deadline=None)


@cache
def ran(at: int) -> BlockResult:
    return run_block(PLAN, BLOCKS[at], Names())


def lost(at: int) -> BlockResult:
    return lost_block(PLAN, BLOCKS[at], f"it died\n{at}")


results = st.tuples(st.integers(0, len(BLOCKS) - 1), st.integers(0, 3)).map(
    lambda one: ran(one[0]) if one[1] else lost(one[0])
)
some_blocks = st.lists(results, max_size=len(BLOCKS), unique_by=lambda one: one.block)


def added(blocks: list[BlockResult]) -> list[Row]:
    """The rows of the sum to which blocks are added one by one."""
    total = Sum()
    for one in blocks:
        total.add(one, COMPONENTS, TIMED)
    return list(total.rows())


def rows(blocks: list[BlockResult]) -> list[Row]:
    return [row for one in blocks for row in rows_of(one, TIMED)]


def test_there_is_something_to_add_up():
    found = [ran(at) for at in range(len(BLOCKS))]
    assert sum(any(tally.failures for tally in one.tallies.values()) for one in found) > 3
    assert sum(bool(one.differences) for one in found) > 1
    failed = [row for row in rows(found) if row.kind == "failed"]
    assert len({(row.property, row.operation) for row in failed}) < len(failed)


@QUICK
@given(some_blocks)
def test_blocks_survive_their_rows(blocks):
    assert list(blocks_of(rows(blocks), PLAN.digest)) == blocks
    for one, seconds in timed_blocks_of(rows(blocks), PLAN.digest):
        each = {name: took for name, took in TIMED.each.items() if name in one.tallies}
        assert seconds == Seconds(1.0, each)
    for one in blocks:
        check_block(one, PLAN, COMPONENTS)


@QUICK
@given(some_blocks)
def test_rows_survive_a_table(blocks):
    every = rows(blocks)
    assert list(rows_in(batch_of(every))) == every
    written = io.BytesIO()
    pq.write_table(pa.Table.from_batches([batch_of(every)], schema=SCHEMA), written)
    assert list(read_table(written.getvalue())) == every


@QUICK
@given(some_blocks, st.randoms(use_true_random=False))
def test_rows_add_up_to_what_blocks_add_up_to(blocks, chance):
    every = rows(blocks)
    chance.shuffle(every)
    assert list(fold(every, COMPONENTS).rows()) == added(blocks)


@QUICK
@given(some_blocks, st.lists(st.integers(0, 30)), st.randoms(use_true_random=False))
def test_rows_may_be_grouped_in_any_way(blocks, cuts, chance):
    """As Spark does: the rows of a block may come apart, and sums are added up once more."""
    every = rows(blocks)
    chance.shuffle(every)
    ends = sorted({min(cut, len(every)) for cut in cuts} | {0, len(every)})
    parts = [list(fold(every[a:b], COMPONENTS).rows()) for a, b in pairwise(ends)]
    chance.shuffle(parts)
    assert list(fold([row for part in parts for row in part], COMPONENTS).rows()) == added(blocks)


@QUICK
@given(st.integers(0, len(BLOCKS)))
def test_the_sum_of_the_first_blocks_of_a_plan_is_one_that_is_believed(blocks):
    every = added([ran(at) if at % 5 else lost(at) for at in range(blocks)])
    check_sum(every, PLAN, blocks, COMPONENTS)
    for other in {blocks - 1, blocks + 1} & set(range(len(BLOCKS) + 1)):
        with pytest.raises(ValueError, match=r"the plan has|has no lost block"):
            check_sum(every, PLAN, other, COMPONENTS)


texts = st.text(max_size=8)
whole = st.integers(0, 2**63 - 1)


@QUICK
@given(st.builds(Row, kind=st.sampled_from(("block", "lost", "ran", "failed", "differed")), component=texts,
                 block=st.none() | whole, implementation=st.none() | texts, first=st.none() | whole,
                 count=st.none() | st.integers(1, 2**63 - 1), owed=st.none() | texts, scenario=st.none() | texts,
                 reason=st.none() | texts, seconds=st.none() | st.floats(0, 1e9)))  # fmt: skip
def test_any_row_is_read_or_refused(row):
    for read in (lambda: list(blocks_of([row], "x")), lambda: fold([row], COMPONENTS)):
        with suppress(ValueError, KeyError):
            read()


def test_a_table_has_a_column_for_each_field(tmp_path):
    assert SCHEMA.names == [field.encode_name for field in msgspec.structs.fields(Row)]
    assert SQL_SCHEMA.startswith("`kind` string, `component` string, `block` bigint, ")
    assert SQL_SCHEMA.endswith("`seconds` double")


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 10_000, 10_001])
def test_a_table_may_have_any_number_of_rows_in_several_files(count, tmp_path):
    row = Row("block", "deque", 0, first=0, scenarios=1, count=1)
    every = [replace(row, block=number) for number in range(count)]
    with TableWriter(tmp_path) as writer:
        for one in every:
            writer.add([one])
    files = sorted(tmp_path.iterdir())
    assert [one for path in files for one in read_table(path.read_bytes())] == every
    assert len(files) == max(1, -(-count // 10_000))


def test_what_was_not_finished_is_no_table(tmp_path):
    def half() -> None:
        with TableWriter(tmp_path) as writer:
            writer.add(rows([ran(0)]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert not list(tmp_path.iterdir())


def _plans() -> list[Plan]:
    few: dict[str, Any] = {"implementations": ("reference",), "components": ("deque", "gate", "spill"), "block": 7}
    return [Plan("s", scenarios=100, **few), Plan("s", steps=20, **few), Plan("s", minutes=1, **few)]


@pytest.mark.parametrize("plan", _plans(), ids=("scenarios", "steps", "minutes"))
def test_positions_are_those_of_the_blocks(plan):
    for position, block in zip(range(90), plan.blocks(), strict=False):
        assert (plan.block_at(position), plan.position_of(block), plan.has(block)) == (block, position, True)
    firsts = [block for _, block in zip(range(8), plan.blocks(), strict=False)]
    for number in range(len(firsts) + 1):
        for name in plan.components:
            assert plan.blocks_of(name, number) == sum(one.component == name for one in firsts[:number])
    assert isinstance(firsts[0], Block)
