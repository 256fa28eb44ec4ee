"""Strategies for records: their keys, their sizes, and where the bytes of channel state are cut into chunks."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy


def keys(count: int = 16, hot: int = 0) -> SearchStrategy[int]:
    """Draws one of `count` keys. If some are `hot`, these, the smallest ones, are drawn more than half of the
    time. It shrinks to key 0.

    Raises: ValueError unless 0 <= hot <= count and count > 0.
    """
    if count < 1 or not 0 <= hot <= count:
        raise ValueError(f"of {count} keys, {hot} cannot be hot: at least one key is needed, and at most all are hot")
    if not hot:
        return st.integers(0, count - 1)
    return st.one_of(st.integers(0, hot - 1), st.integers(0, count - 1))


def chunkings(total: int, page: int, most: int = 8) -> SearchStrategy[tuple[int, ...]]:
    """Draws into which chunks the bytes of channel state are cut: lengths whose sum is `total`, each at most `page`.
    There are up to `most` cuts anywhere, and then every piece that is longer than a page is cut after each page.

    It shrinks to no cut, but those after each page. What is drawn are the places of the cuts, so that shrinking, if it
    deletes one, joins two chunks and leaves the others as they are.

    Raises: ValueError if there is no such cutting.
    """
    if total < 0 or page < 1 or most < 0:
        raise ValueError(f"nothing can be cut so: {total=}, {page=}, {most=}")
    if total < 2:
        return st.just((1,) * total)
    return st.lists(st.integers(1, total - 1), max_size=most).map(lambda cuts: _lengths({*cuts, total}, page))


def _lengths(ends: set[int], page: int) -> tuple[int, ...]:
    """Returns the lengths of the chunks that end there, none longer than a page."""
    found: list[int] = []
    begin = 0
    for end in sorted(ends):
        pages, rest = divmod(end - begin, page)
        found += [page] * pages
        if rest:
            found.append(rest)
        begin = end
    return tuple(found)
