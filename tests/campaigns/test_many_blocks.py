"""A campaign may have hundreds of thousands of blocks: what reads or runs it keeps nothing for each of them."""

from __future__ import annotations

import os
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import pytest

from conformance.campaigns import CampaignError, Names, Plan, so_far, status, store
from conformance.campaigns.campaign import finish
from conformance.campaigns.store import write_store
from tests.campaigns.fabricated import fabricate

FEW, MANY = 300, 1_500
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


def check_growth(few: Callable[[], object], many: Callable[[], object]) -> None:
    """Compare the peaks.

    Known bugs are built anew, and when their modules are collected is up to the interpreter, whose table of strings
    grows now and then, too, by two megabytes at once: so each is measured again.
    """
    least = max(peak(few) for _ in range(3))
    assert any(peak(many) - least < MOST_PER_BLOCK * (MANY - FEW) for _ in range(3))


READERS: dict[str, Callable[[Path, Plan], object]] = {
    "status": lambda folder, plan: status(folder),
    "finish": lambda folder, plan: finish(folder, plan, Names()),
    "write_store": lambda folder, plan: write_store(folder),
}


# One is measured by default, since the others take as long each, and one as long as all of them.
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one == "status" else [pytest.mark.slow]) for one in READERS]
)
def test_the_memory_does_not_grow_with_the_blocks(name, folders):
    """In a process of its own: in one that has run other tests, known bugs of theirs are collected meanwhile."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        fresh.submit(check_reader, name, folders).result()


def check_reader(name: str, folders: list[tuple[Path, Plan]]) -> None:
    """Compare what reading few blocks takes with what reading many does."""
    store.ROWS = 100
    READERS[name](*folders[0])  # what is loaded once, and the corpus
    few, many = (partial(READERS[name], *one) for one in folders)
    check_growth(few, many)


@pytest.mark.slow  # it makes folders of 300 and of 1,500 blocks
def test_a_driver_keeps_only_the_sum(tmp_path):
    made = count()
    few, many = (lambda blocks=blocks: fabricate(tmp_path / str(next(made)), blocks) for blocks in (FEW, MANY))
    few()
    check_growth(few, many)


def test_to_read_the_progress_opens_as_many_files_for_many_blocks_as_for_few(folders, monkeypatch):
    really, opened = os.open, Counter[str]()

    def counting(path, *more, **options):
        opened[str(folder)] += str(path).startswith(str(folder))
        return really(path, *more, **options)

    monkeypatch.setattr(os, "open", counting)
    for folder, _ in folders:
        assert status(folder).blocks in (FEW, MANY)
    few, many = opened.values()
    assert few == many > 2


def test_blocks_of_an_earlier_version_are_reported(tmp_path):
    fabricate(tmp_path / "c", 2)
    (tmp_path / "c" / "waves").rename(tmp_path / "c" / "blocks")
    for read in (status, so_far, write_store):
        with pytest.raises(CampaignError, match="An earlier version of this suite wrote the blocks"):
            read(tmp_path / "c")
