"""The tiny engine behind the bridge, and what happens to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.bridges.episodes import Episodes
from conformance.driver import Program
from conformance.driver.run import Run, run_scenario
from conformance.episodes import COMPONENT, EpisodeConfig

ENGINE = Path(__file__).with_name("tiny_engine.py")


def command(mode: str, bug: str = "") -> tuple[str, ...]:
    """The command of the adapter."""
    return (sys.executable, "-S", "-E", str(ENGINE), mode, *([bug] if bug else []))


@contextmanager
def tiny(mode: str, bug: str = "", patience: float = 10.0) -> Iterator[Episodes]:
    """The engine; what it has started is ended."""
    made = Episodes(command(mode, bug), patience)
    try:
        yield made
    finally:
        made.close()


def run(engine: Episodes, steps: Sequence[tuple[object, ...]], every: int = 4) -> Run:
    """Runs a scenario on two splits with three keys."""
    config = EpisodeConfig(2, 1, 3, {"every": every}, engine.describe().promises)
    return run_scenario(Program(COMPONENT, engine), config, steps, record=True)
