"""A campaign may have hundreds of thousands of blocks: what reads or runs it keeps nothing for each of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from conformance.campaigns import CampaignError, Names, Plan, make_plan, status, store
from conformance.campaigns.block import run_block
from conformance.campaigns.campaign import Feed, finish
from conformance.campaigns.shards import SIZE, all_paths
from conformance.campaigns.store import write_store
from tests.campaigns.fabricated import fabricate, plan_of

FEW, MANY = 300, 2_100
MOST_PER_BLOCK = 300
"""Bytes. A block has thousands; what is left is noise of the allocator, and the list of groups in a Parquet file, which
are so small here."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two campaigns, and their plans."""
    place = tmp_path_factory.mktemp("many")
    return [(place / str(blocks), fabricate(place / str(blocks), blocks)) for blocks in (FEW, MANY)]


def peak(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


READERS: dict[str, Callable[[Path, Plan], object]] = {
    "status": lambda folder, plan: status(folder),
    "finish": lambda folder, plan: finish(folder, plan, Names()),
    "write_store": lambda folder, plan: write_store(folder),
}


@pytest.mark.parametrize("name", READERS)
def test_the_memory_does_not_grow_with_the_blocks(name, folders, monkeypatch):
    monkeypatch.setattr(store, "ROWS", 100)
    READERS[name](*folders[0])  # what is loaded once, and the corpus
    few, many = (partial(READERS[name], *one) for one in folders)
    # Known bugs are built anew, and when their modules are collected is up to the interpreter, whose table of strings
    # grows now and then, too, by two megabytes at once: so each is measured again.
    least = max(peak(few) for _ in range(3))
    assert any(peak(many) - least < MOST_PER_BLOCK * (MANY - FEW) for _ in range(3))


def test_a_driver_keeps_only_what_is_in_flight():
    def driven(blocks: int) -> Callable[[], None]:
        plan = plan_of(blocks)
        result = run_block(make_plan("x", ["reference"], ["deque"], scenarios=1), next(plan.blocks()), Names())

        def drive() -> None:
            feed = Feed(plan, float, lambda block: None)
            for block in feed:
                feed.committed(type(result)("", block, result.tallies))
            assert feed.advance().done == blocks

        return drive

    driven(FEW)()
    few, many = peak(driven(FEW)), peak(driven(MANY))
    assert many - few < MOST_PER_BLOCK * (MANY - FEW)


def test_blocks_are_read_in_the_order_of_their_numbers(folders):
    folder, plan = folders[1]
    assert MANY // len(plan.components) > SIZE
    numbers = [int(path.stem) for path in all_paths(folder) if path.parents[1].name == plan.components[0]]
    assert numbers == sorted(numbers) == list(range(MANY // len(plan.components)))


def test_blocks_of_an_earlier_version_are_reported(tmp_path):
    fabricate(tmp_path / "c", 2)
    (tmp_path / "c" / "blocks" / "deque-0.json").touch()
    with pytest.raises(CampaignError, match="An earlier version of this suite wrote the blocks"):
        status(tmp_path / "c")
