"""Key groups: which one a key belongs to, and which subtask owns it (Flink: `KeyGroupRangeAssignment`).

This is vocabulary, as the names of errors are: a job that changes its parallelism finds the state of a key only if
everybody computes the same. Engines with other key groups are not comparable.
"""

from __future__ import annotations

MOST = 1 << 15
"""The largest maximum parallelism (Flink: `UPPER_BOUND_MAX_PARALLELISM`)."""
LEAST_DEFAULT = 1 << 7
"""The smallest maximum parallelism that is chosen if none is configured (Flink:
`DEFAULT_LOWER_BOUND_MAX_PARALLELISM`)."""
_WORD = 0xFFFF_FFFF


def hash_of_number(key: int) -> int:
    """Returns the hash of a number of 64 bits: its high word xor its low word (Java: `Long.hashCode`), unsigned."""
    return ((key >> 32) ^ key) & _WORD


def hash_of_text(key: str) -> int:
    """Returns the hash of a text over its UTF-16 units (Java: `String.hashCode`), unsigned."""
    units = key.encode("utf-16-be", "surrogatepass")
    result = 0
    for at in range(0, len(units), 2):
        result = (result * 31 + (units[at] << 8 | units[at + 1])) & _WORD
    return result


def mixed(number: int) -> int:
    """Returns a hash mixed as murmur3 does, and never negative (Flink: `MathUtils.murmurHash`)."""
    number = number * 0xCC9E2D51 & _WORD
    number = (number << 15 | number >> 17) & _WORD
    number = number * 0x1B873593 & _WORD
    number = (number << 13 | number >> 19) & _WORD
    number = (number * 5 + 0xE6546B64) & _WORD
    number ^= 4
    number ^= number >> 16
    number = number * 0x85EBCA6B & _WORD
    number ^= number >> 13
    number = number * 0xC2B2AE35 & _WORD
    number ^= number >> 16
    if number < 1 << 31:
        return number
    return -(number - (1 << 32)) if number != 1 << 31 else 0


def key_group(hashed: int, max_parallelism: int) -> int:
    """Returns the key group of a key with this hash."""
    return mixed(hashed) % max_parallelism


def owner(group: int, max_parallelism: int, parallelism: int) -> int:
    """Returns the subtask that owns a key group."""
    return group * parallelism // max_parallelism


def default_max_parallelism(parallelism: int) -> int:
    """Returns the maximum parallelism of a vertex for which none is configured: one and a half times its parallelism,
    rounded up to a power of two, within limits."""
    wanted = parallelism + parallelism // 2
    return min(max(1 << (wanted - 1).bit_length(), LEAST_DEFAULT), MOST)
