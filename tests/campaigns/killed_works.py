"""Legal variants that are tried into a folder by a driver that is killed: python killed_works.py FOLDER RUNNER KEPT"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from conformance.campaigns import choose
from conformance.campaigns.checks import try_variants
from conformance.campaigns.kept_works import Done, Folder, into
from conformance.campaigns.runners import Runner
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.position import Follow
from conformance.engines.variants import Trial, try_variant
from conformance.ports import find_legal_variant

NAMES = [f"tests.ports.foreign_variants:{one}" for one in ("COUNTS_THE_END", "TAKES_THE_LAST", "DIFFERS_NOWHERE")]
SCENARIOS = 30
WORKS = "legal variants"


class Squaring(Struct, frozen=True):
    """A work for tests."""

    number: int

    @property
    def topics(self) -> tuple[str, ...]:
        return ("small" if self.number < 10 else "large", "numbers")

    def do(self, interruption: Interruption, follow: Follow) -> int | None:
        if self.number == 13:
            raise ValueError("an unlucky number")
        if self.number == 666:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number**2


def tried(
    folder: Path, runner: Runner, told: Callable[[int], None] = lambda done: None, interruption: Interruption = NEVER
) -> list[Trial]:
    """What becomes of the variants, in a folder."""
    with into(folder, WORKS, runner, told, print, interruption) as over:
        return try_variants(NAMES, "0", SCENARIOS, over)


def at_once() -> list[Trial]:
    """What becomes of the variants without a folder."""
    return [try_variant(name, find_legal_variant(name), "0", SCENARIOS) for name in NAMES]


def main() -> None:
    folder, runner, most = sys.argv[1:]
    kept: list[Done] = []
    keep = Folder.keep

    def keep_some(self: Folder, done: Done) -> None:
        keep(self, done)
        kept.append(done)
        if str(len(kept)) == most:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "keep", keep_some)
        tried(Path(folder), choose(runner, workers=2)[0])


if __name__ == "__main__":
    main()
