"""Keys and chunks: what is drawn, and to what it shrinks."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import find, settings

from strategies import chunkings, keys
from tests.strategies.room import drawn

FOUND = settings(max_examples=2_000, database=None, deadline=None)


@pytest.mark.parametrize("strategy", [keys(), keys(1), keys(9, hot=2), keys(4, hot=4)])
def test_a_key_shrinks_to_0(strategy):
    assert find(strategy, lambda key: True, settings=FOUND) == 0


def test_hot_keys_are_drawn_more_often():
    some = [key for found in drawn(st.lists(keys(1_000, hot=2), min_size=20), 50) for key in found]
    assert 0.4 < sum(key < 2 for key in some) / len(some) < 0.8
    assert max(some) > 500


@pytest.mark.parametrize(("count", "hot"), [(0, 0), (3, 4), (3, -1)])
def test_keys_that_cannot_be_are_refused(count, hot):
    with pytest.raises(ValueError, match=f"of {count} keys, {hot} cannot be hot"):
        keys(count, hot)


@pytest.mark.parametrize(("total", "least"), [(0, ()), (1, (1,)), (16, (16,)), (40, (16, 16, 8))])
def test_chunks_shrink_to_no_cut(total, least):
    assert find(chunkings(total, 16), lambda lengths: True, settings=FOUND) == least


def test_chunks_have_all_bytes_and_fit_a_page():
    for lengths in drawn(chunkings(100, 7), 100):
        assert sum(lengths) == 100
        assert all(0 < length <= 7 for length in lengths)


def test_one_cut_is_left_where_it_is_needed():
    assert find(chunkings(100, 100), lambda lengths: lengths[0] == 37, settings=FOUND) == (37, 63)
    assert find(chunkings(100, 100), lambda lengths: 3 in lengths, settings=FOUND) == (3, 97)


@pytest.mark.parametrize(("total", "page", "most"), [(-1, 4, 1), (4, 0, 1), (4, 4, -1)])
def test_chunks_that_cannot_be_are_refused(total, page, most):
    with pytest.raises(ValueError, match="nothing can be cut so"):
        chunkings(total, page, most)
