"""How an exploration recognises states."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations

import pytest

from conformance.engines.digest import CannotRecognise, Recogniser
from conformance.engines.recognition import HASH_BITS, Recognition, WideHash, collision_odds

SHARED: list[int] = []
NEIGHBOURS: list[list[object]] = [
    [[], []],
    [SHARED, SHARED],
    [[1], 2],
    [[1, 2]],
    [1, [2]],
    [(1, (2,))],
    [((1,), 2)],
    [((1, 2),)],
    ["1"],
    [b"1"],
    [1],
    [None],
    [""],
    ["12"],
    ["1", "2"],
    [{1: 2}],
    [{2: 1}],
    [{1: 2, 3: 4}],
    [{3: 4, 1: 2}],
    [2**70],
    [int],
]
"""Values whose digests differ."""


@pytest.mark.parametrize(("one", "other"), list(combinations(NEIGHBOURS, 2)))
def test_different_digests_have_different_hashes(one, other):
    recogniser, wide = Recogniser(), WideHash()
    assert recogniser.walk(*one) != recogniser.walk(*other)
    assert wide.of(recogniser.walk(*one)) != wide.of(recogniser.walk(*other))


@pytest.mark.parametrize("one", NEIGHBOURS)
def test_equal_digests_have_equal_hashes_also_later(one):
    recogniser, wide = Recogniser(), WideHash()
    first = wide.of(recogniser.walk(*one))
    for other in NEIGHBOURS:
        wide.of(recogniser.walk(*other))
    assert wide.of(recogniser.walk(*one)) == first
    assert len(first) * 8 == HASH_BITS


def test_a_hash_that_recognised_too_much_would_lose_states(monkeypatch):
    """A hash of 8 bits loses states of a scope that has more than 256, so the tests can notice."""
    monkeypatch.setattr("conformance.engines.recognition.HASH_BITS", 8)
    wide = WideHash()
    assert len({wide.of((number,)) for number in range(1000)}) <= 256


def test_hashes_do_not_depend_on_the_hash_seed():
    program = (
        "from conformance.engines.recognition import WideHash; wide = WideHash();"
        "print([wide.of(one).hex() for one in (('a', 'b', 1), ('b', None), (frozenset('ab'), int, WideHash.of))])"
    )
    shown = [
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("0", "1")
    ]
    assert shown[0] == shown[1]


def test_hashes_do_not_depend_on_what_was_met_before():
    one, other = WideHash(), WideHash()
    other.of((object, 7, "b"))
    assert one.of(("a", "b", WideHash)) == other.of(("a", "b", WideHash))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1,), (True,)),
        ((1.0,), (1,)),
        ((range(0),), (range(3, 2),)),
        ((Recognition.HASH,), ("hash",)),
        ((0.0,), (-0.0,)),
    ],
)
def test_values_that_are_equal_have_one_hash(one, other):
    """A digest is compared with `==`, and its hash must not tell apart what the digest does not."""
    assert one == other
    assert WideHash().of(one) == WideHash().of(other)


def named_twice():
    class Twin:
        pass

    return Twin


@pytest.mark.parametrize("state", [(object(),), (named_twice(), named_twice()), ([].append,)])
def test_what_another_process_would_not_know_is_refused(state):
    with pytest.raises(CannotRecognise):
        WideHash().of(state)


@pytest.mark.parametrize(("states", "odds"), [(0, 0), (1, 0), (2, 2.0**-128), (2**32 + 1, 2.0**-65)])
def test_the_odds_of_a_collision(states, odds):
    assert collision_odds(Recognition.HASH, states) == pytest.approx(odds, rel=1e-8)
    assert collision_odds(Recognition.EXACT, states) == 0
