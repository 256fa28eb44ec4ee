"""The arithmetic of a change of parallelism, as released Flink does it: key groups, mappers, partitioners.

The questions are drawn, always the same ones, and each release gets all of them.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from conformance.bridges.flink.arithmetic import Question, Told, ask
from conformance.bridges.flink.releases import RESCALING
from conformance.ports import UnusableImplementation
from conformance.ports.key_groups import (
    MOST,
    default_max_parallelism,
    hash_of_number,
    hash_of_text,
    key_group,
    owner,
)
from tests.bridges.conftest import skip_without

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

LARGEST = 600
"""Of the parallelisms."""
DRAWN = 4_000
"""Questions of each kind that is asked for one number."""
TEXT = "ab 7é木陽😀"


@pytest.fixture(params=RESCALING.releases)
def release(request):
    skip_without(request.param)
    return request.param


def drawn_key(random: Random) -> int | str:
    match random.randrange(4):
        case 0:
            return random.randrange(-100, 100)
        case 1:
            return random.randrange(-(1 << 63), 1 << 63)
        case 2:
            return (1 << random.randrange(63)) - random.randrange(3)
        case _:
            return "".join(random.choices(TEXT, k=random.randrange(12)))


def drawn_max_parallelism(random: Random, parallelism: int) -> int:
    return random.choice(
        (random.randrange(parallelism, MOST + 1), random.randrange(parallelism, parallelism + 10), MOST)
        if random.randrange(4)
        else (default_max_parallelism(parallelism),)
    )


def group_of(key: int | str, max_parallelism: int) -> int:
    return key_group(hash_of_text(key) if isinstance(key, str) else hash_of_number(key), max_parallelism)


def differences(release: str, due: list[tuple[Question, object]]) -> list[tuple[Question, object, Told]]:
    """What was answered otherwise, of questions with the answers that are due."""
    told = ask(release, [question for question, _ in due])
    assert len(told) == len(due)
    return [(question, value, one) for (question, value), one in zip(due, told, strict=True) if one != Told(value)]


def test_keys_have_the_same_groups_and_owners(release):
    random = Random(1)
    due: list[tuple[Question, object]] = []
    for _ in range(DRAWN):
        parallelism, key = random.randint(1, LARGEST), drawn_key(random)
        most = drawn_max_parallelism(random, parallelism)
        group = group_of(key, most)
        due.append((("key_group", key, most), group))
        due.append((("owner_of_key", key, most, parallelism), owner(group, most, parallelism)))
        other = random.randrange(most)
        due.append((("owner", other, most, parallelism), owner(other, most, parallelism)))
    due += [(("default_max_parallelism", one), default_max_parallelism(one)) for one in range(1, MOST, 17)]
    assert len(due) > 3 * DRAWN
    assert differences(release, due) == []


def missed(release: str, drawn: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Of subtasks with two parallelisms and a maximum one: those that do not recover from an old owner of a key group
    that they own now."""
    told = ask(release, [("old_subtasks", "RANGE", subtask, old, new) for subtask, old, new, _ in drawn])
    ranges = ask(release, [("key_groups", subtask, most, new) for subtask, _, new, most in drawn])
    found = []
    for one, recovered, owned in zip(drawn, told, ranges, strict=True):
        first, last = owned.value
        owners = [owner(group, one[3], one[1]) for group in (first, last)] if first <= last else []
        if not all(recovered.value[0] <= old <= recovered.value[-1] for old in owners):
            found.append(one)
    return found


def test_a_keyed_vertex_recovers_from_all_old_owners_if_its_key_groups_are_a_power_of_two(release):
    random = Random(5)
    drawn = []
    for _ in range(DRAWN):
        old, new = random.randint(1, LARGEST), random.randint(1, LARGEST)
        most = 1 << random.randint(max(old - 1, new - 1, 1).bit_length(), 15)
        drawn.append((random.randrange(new), old, new, most))
    assert missed(release, drawn) == []


def test_the_mapper_by_range_does_not_know_the_key_groups_of_the_job(release):
    """A finding: it asks as if a job had 32,768 key groups, which makes no difference below 195 subtasks."""
    subtask, old, new, most = 1, 194, 195, 390
    assert ask(release, [("key_groups", subtask, most, new)]) == [Told([2, 3])]
    assert owner(2, most, old) == 0
    assert ask(release, [("old_subtasks", "RANGE", subtask, old, new)]) == [Told([1])]
    random = Random(6)
    small = [
        (random.randrange(new), old, new, random.randint(194, MOST))
        for old, new in ((random.randint(1, 194), random.randint(1, 194)) for _ in range(DRAWN))
    ]
    assert missed(release, small) == []
    large = [
        (random.randrange(new), old, new, random.randint(LARGEST, MOST))
        for old, new in ((random.randint(195, LARGEST), random.randint(195, LARGEST)) for _ in range(DRAWN))
    ]
    assert missed(release, large)


def test_keyed_records_go_to_the_owner_of_their_key_group(release):
    random = Random(2)
    due: list[tuple[Question, object]] = []
    for _ in range(DRAWN // 10):
        channels = random.randint(1, LARGEST)
        most, keys = drawn_max_parallelism(random, channels), [drawn_key(random) for _ in range(20)]
        due.append(
            (("channels", "hash", most, channels, keys), [owner(group_of(key, most), most, channels) for key in keys])
        )
    assert differences(release, due) == []


def test_a_custom_partitioner_keeps_its_state_from_record_to_record(release):
    random = Random(3)
    due: list[tuple[Question, object]] = []
    for _ in range(DRAWN // 10):
        channels, keys = random.randint(1, LARGEST), [random.randrange(-(1 << 31), 1 << 31) for _ in range(20)]
        due.append(
            (("channels", "custom", 128, channels, keys), [(key + at) % channels for at, key in enumerate(keys)])
        )
    assert differences(release, due) == []


def test_partitioners_that_no_record_is_filtered_with(release):
    """Nothing that is filtered may depend on them: two of them draw by chance."""
    random = Random(4)
    drawn = [(random.randint(1, LARGEST), [drawn_key(random) for _ in range(20)]) for _ in range(100)]

    def answers(kind: str) -> list[list[int]]:
        return [one.value for one in ask(release, [("channels", kind, 128, *one) for one in drawn])]

    for (channels, _), found in zip(drawn, answers("rebalance"), strict=True):
        assert all(after == (before + 1) % channels for before, after in pairwise(found))
    assert any(found[0] != 0 for found in answers("rebalance"))
    for (channels, _), found in zip(drawn, answers("shuffle"), strict=True):
        assert all(0 <= one < channels for one in found)
    assert answers("rescale") == [[at % channels for at in range(20)] for channels, _ in drawn]
    assert answers("global") == answers("forward") == [[0] * 20 for _ in drawn]
    assert ask(release, [("channels", "broadcast", 128, *drawn[0])]) == [Told(refused="UnsupportedOperationException")]


def test_a_copy_of_a_custom_partitioner_counts_for_itself(release):
    """Of all others the copy is the same object, except of the one by chance."""
    kinds = ("hash", "rebalance", "global", "broadcast", "forward", "rescale", "shuffle", "custom")
    found = dict(zip(kinds, ask(release, [("copy_is_the_same", kind) for kind in kinds]), strict=True))
    assert [kind for kind, one in found.items() if not one.value] == ["shuffle", "custom"]


def test_what_has_no_answer_is_refused(release):
    refused = [one.refused for one in ask(release, [
        ("key_group", None, 128), ("key_groups", 0, 10, 11), ("key_groups", 0, MOST + 1, 1), ("key_groups", 0, 10, 0),
        ("default_max_parallelism", 0), ("old_subtasks", "UNSUPPORTED", 0, 2, 3),
    ])]  # fmt: skip
    assert refused == ["NullPointerException", *["IllegalArgumentException"] * 4, "UnsupportedOperationException"]


def test_an_unknown_question_is_an_error_of_the_suite(release):
    with pytest.raises(UnusableImplementation, match="unknown question"):
        ask(release, [("teleport",)])
