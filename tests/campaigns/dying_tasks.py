"""Tasks of Spark whose process dies in each attempt of the first job. Executors find them by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conformance.campaigns import spark_tasks
from tests.campaigns.dying import MARK

ATTEMPTS = 2
_running, _adding_group = spark_tasks.running, spark_tasks.adding_group


def running(*about: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """As the function of the suite, which runs blocks."""

    def run(numbers: Iterable[Any]) -> Iterator[Any]:
        _die("running")
        yield from _running(*about)(iter(numbers))

    return run


def adding_group(components: str) -> Callable[[Any], Any]:
    """As the function of the suite, which adds up."""

    def add(table: Any) -> Any:
        _die("adding")
        return _adding_group(components)(table)

    return add


def _die(what: str) -> None:
    """End this process, unless it was ended so often before."""
    with Path(f"{os.environ[MARK]}-{what}").open("a+b") as file:
        if file.tell() < ATTEMPTS:
            file.write(b"x")
            file.flush()
            os._exit(1)
