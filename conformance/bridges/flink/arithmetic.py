"""Asks a release about key groups, mappers and partitioners: the arithmetic of a change of parallelism."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from conformance.bridges.flink.releases import RESCALING
from conformance.bridges.flink.shim import command
from conformance.ports import UnusableImplementation

MAIN_CLASS = "conformance.flink.rescaling.Arithmetic"

Question: TypeAlias = tuple[Any, ...]
"""One of

- `("key_group", key, max_parallelism)`; a key is a whole number of 64 bits (`Long`), a text (`String`), or None
- `("owner", key_group, max_parallelism, parallelism)`
- `("owner_of_key", key, max_parallelism, parallelism)`
- `("key_groups", subtask, max_parallelism, parallelism)`: the first and the last one of this subtask
- `("default_max_parallelism", parallelism)`
- `("old_subtasks", mapper, new_subtask, old_parallelism, new_parallelism)`
- `("mapping", mapper, old_parallelism, new_parallelism)`: `old_by_new`, `new_by_old`, `ambiguous`, `identity`
- `("channels", kind, max_parallelism, channels, keys)`: where a fresh partitioner of this kind of edge sends them
- `("copy_is_the_same", kind)`: whether a copy of the partitioner is the same object
"""


class Told(Struct, frozen=True, omit_defaults=True):
    """What a release answered: a value, or the class of the exception with which it refused."""

    value: Any = None
    refused: str | None = None


def ask(release: str, questions: Iterable[Question]) -> list[Told]:
    """The answers of the classes of a release, in the order of the questions.

    Raises: UnusableImplementation if the release cannot run, or does not know a question.
    """
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)  # it can write half of a surrogate pair
    run = command(release, RESCALING, MAIN_CLASS)
    done = subprocess.run(run, input=lines.encode(), capture_output=True, check=False)
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip()
        raise UnusableImplementation(f"Flink {release} did not answer. It said:\n{told}")
    return [msgspec.json.decode(line, type=Told) for line in done.stdout.splitlines()]
