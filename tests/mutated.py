"""Changes files of every kind at random, and reads them with the commands of the suite: none may end in status 70."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings

from conformance import cli
from conformance.campaigns import Inline, make_plan, start
from conformance.campaigns.files import CODE, FINDINGS, PLAN, RESULT, WAVE, WAVES
from conformance.campaigns.waves import SUM
from conformance.reporting.status import INTERNAL
from tests.campaigns.edited import sign
from tests.hostile import bytes_of, damaged, mutations_of, resealed
from tests.strange_states import state

ROOT = Path(__file__).parents[1]
CAMPAIGN = make_plan("s", ["known-bug:B-D1"], ["deque"], scenarios=20, block=20, budget=50)
BRIEF = make_plan("s", ["known-bug:B-D1"], ["deque"], scenarios=4, block=4, budget=0)
"""Each file is gone on with, so that the whole campaign runs again."""
KNOWN = b"""\
[[failure]]
implementation = "known-bug:B-D1"
component = "deque"
property = "all-others-keep-their-order"
class = "reordered"
ticket = "TICKET-1"
reason = "it is known"
"""


class Kind(NamedTuple):
    """A kind of file, and the command that reads it."""

    what: str
    name: str
    """Where the file lies in the folder of the command."""
    arguments: tuple[str, ...]
    make: Callable[[Path], None]
    """Makes the folder, with a file that is right."""
    is_json: bool = True
    sealed: bool = False
    """Whether the changed file gets the checksum that fits, so that what is in it is looked at."""
    again: Callable[[Path], None] = lambda folder: None
    """Prepares the folder for each file anew."""
    then: Callable[[Path], None] = lambda folder: None
    """What is done when the file was changed."""


def _corpus(folder: Path) -> None:
    shutil.copy(ROOT / "tests" / "corpus" / "B-01.json", folder / "scenario.json")


def _campaign(folder: Path) -> None:
    start(folder / "campaign", CAMPAIGN, Inline())


def _brief_campaign(folder: Path) -> None:
    start(folder / "campaign", BRIEF, Inline())


def _unfinish(folder: Path) -> None:
    """Only a campaign that goes on looks at the code that began it."""
    (folder / "campaign" / RESULT).unlink(missing_ok=True)
    shutil.rmtree(folder / "campaign" / WAVES, ignore_errors=True)


def _states(folder: Path) -> None:
    (folder / "states").mkdir()
    state(folder / "states")


def _known(folder: Path) -> None:
    (folder / "known.toml").write_bytes(KNOWN)


_WAVE = f"campaign/{WAVES}/0/{WAVE}"
_SUM = f"campaign/{WAVES}/0/sum/part-00000.parquet"
_CHECK = ("check", "--component", "deque", "--scenarios", "1", "--implementation", "known-bug:B-D1")
KINDS = (
    Kind("scenario", "scenario.json", ("replay", "scenario.json"), _corpus),
    Kind("plan of a campaign", f"campaign/{PLAN}", ("campaign", "status", "campaign"), _campaign),
    Kind("versions of a campaign's code", f"campaign/{CODE}", ("campaign", "resume", "campaign", "--runner", "inline"),
         _brief_campaign, again=_unfinish),
    Kind("wave", _WAVE, ("campaign", "report", "campaign"), _campaign),
    Kind("wave with a checksum that fits", _WAVE, ("campaign", "report", "campaign"), _campaign, sealed=True),
    Kind("sum", _SUM, ("campaign", "report", "campaign"), _campaign, is_json=False),
    Kind("sum with a checksum that fits", _SUM, ("campaign", "report", "campaign"), _campaign, is_json=False,
         then=lambda folder: sign(folder / "campaign", SUM)),
    Kind("result", f"campaign/{RESULT}", ("campaign", "report", "campaign"), _campaign),
    Kind("result with a checksum that fits", f"campaign/{RESULT}", ("campaign", "report", "campaign"), _campaign,
         sealed=True),
    Kind("finding of a campaign with a checksum that fits", f"campaign/{FINDINGS}/0/acd8e88233fc5f1a.json",
         ("campaign", "report", "campaign"), _campaign, sealed=True),
    Kind("implementation of a campaign with a checksum that fits", f"campaign/{FINDINGS}/0/implementation.json",
         ("campaign", "report", "campaign"), _campaign, sealed=True),
    Kind("channel state", "states/a.state", ("audit", "states"), _states, is_json=False),
    Kind("list of channel state", "states/a.state.json", ("audit", "states"), _states),
    Kind("known failures", "known.toml", (*_CHECK, "--known-failures", "known.toml"), _known, is_json=False),
)  # fmt: skip


def statuses(kind: Kind, count: int, folder: Path) -> Counter[int]:
    """Returns how often the command ended in each status, for so many files that are drawn anew in the same way."""
    kind.make(folder)
    path = folder / kind.name
    found: Counter[int] = Counter()

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(_changed(kind, path.read_bytes()))
    def read(data: bytes) -> None:
        kind.again(folder)
        path.write_bytes(data)
        kind.then(folder)
        found[_status(kind.arguments)] += 1

    with contextlib.chdir(folder):
        read()
    return found


def _changed(kind: Kind, right: bytes) -> st.SearchStrategy[bytes]:
    if not kind.is_json:
        return damaged(right)
    others = mutations_of(json.loads(right))
    if kind.sealed:
        return others.map(resealed)
    return bytes_of(right) | others.map(lambda one: json.dumps(one).encode(errors="surrogatepass"))


def _status(arguments: tuple[str, ...]) -> int:
    """Returns the status of a command of the suite, which is run in this process."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            cli.main(arguments)
        except SystemExit as ended:
            code = ended.code
    return code if isinstance(code, int) else INTERNAL


def table(found: Sequence[tuple[Kind, Counter[int]]]) -> list[str]:
    """Returns the lines of a table: how many files of each kind, and in which status the command ended."""
    lines = ["| file | command | files | statuses |", "|---|---|---:|---|"]
    for kind, counts in found:
        said = ", ".join(f"{status}: {count:,}" for status, count in sorted(counts.items()))
        command = " ".join(kind.arguments[: 1 + (kind.arguments[0] == "campaign")])
        lines.append(f"| {kind.what} | `{command}` | {sum(counts.values()):,} | {said} |")
    return lines
