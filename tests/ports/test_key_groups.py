"""Key groups, with answers of the real classes: Flink 2.3.0; 2.2.1 and 1.20.5 answered the same."""

from __future__ import annotations

import pytest

from conformance.ports.key_groups import (
    MOST,
    default_max_parallelism,
    hash_of_number,
    hash_of_text,
    key_group,
    mixed,
    owner,
)

MAX_PARALLELISMS = (1, 7, 128, 720, 32768)
ANSWERED_FOR_NUMBERS = {
    0: (0, 0, 94, 94, 31198),
    1: (0, 2, 86, 198, 16342),
    -1: (0, 0, 94, 94, 31198),
    5: (0, 4, 126, 654, 15230),
    127: (0, 1, 27, 395, 26779),
    2**31 - 1: (0, 0, 62, 14, 19646),
    -(2**31): (0, 0, 62, 14, 19646),
    2**32: (0, 2, 86, 198, 16342),
    2**63 - 1: (0, 3, 108, 12, 10348),
    -(2**63): (0, 3, 108, 12, 10348),
    123_456_789_012_345: (0, 3, 61, 541, 31805),
}
ANSWERED_FOR_TEXTS = {
    "": (0, 0, 94, 94, 31198),
    "a": (0, 2, 81, 1, 19409),
    "order 17": (0, 5, 4, 564, 2820),
    "木村 陽一": (0, 6, 10, 26, 29578),
    "\U0001f600": (0, 6, 54, 374, 7350),
    "\ud83d": (0, 0, 92, 588, 5212),
    "x" * 1000: (0, 4, 52, 532, 19764),
}
ANSWERED_DEFAULTS = {
    1: 128, 85: 128, 86: 256, 128: 256, 171: 256, 600: 1024, 21845: 32768, 21846: 32768, 32768: 32768
}  # fmt: skip


@pytest.mark.parametrize("key", ANSWERED_FOR_NUMBERS)
def test_numbers_are_in_the_key_groups_in_which_flink_has_them(key):
    found = tuple(key_group(hash_of_number(key), most) for most in MAX_PARALLELISMS)
    assert found == ANSWERED_FOR_NUMBERS[key]


@pytest.mark.parametrize("key", ANSWERED_FOR_TEXTS, ids=ascii)
def test_texts_are_in_the_key_groups_in_which_flink_has_them(key):
    assert tuple(key_group(hash_of_text(key), most) for most in MAX_PARALLELISMS) == ANSWERED_FOR_TEXTS[key]


def test_the_default_maximum_parallelism_is_that_of_flink():
    assert {one: default_max_parallelism(one) for one in ANSWERED_DEFAULTS} == ANSWERED_DEFAULTS


def test_no_key_group_is_negative():
    """The least number of 32 bits has no counterpart: what mixes to it becomes 0."""
    numbers = (hashed for hashed in range(1 << 16))
    assert all(0 <= mixed(hashed) < 1 << 31 for hashed in numbers)
    assert mixed(0x836F0755) == 0, "what mixes to the least number"


@pytest.mark.parametrize(("parallelism", "most"), [(1, 1), (3, 7), (7, 7), (600, 720), (5, MOST), (MOST, MOST)])
def test_every_subtask_owns_key_groups_in_their_order(parallelism, most):
    owners = [owner(group, most, parallelism) for group in range(most)]
    assert owners == sorted(owners)
    assert set(owners) == set(range(parallelism))
