"""Runs hostile programs and reads hostile files with the commands of the suite, and says what came of it.

python -m tests.strangers reports/strangers.md

More arguments are words: only cases with one of them in their description are tried.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conformance.campaigns import Inline, make_plan, start
from conformance.campaigns.files import PLAN, RESULT, WAVE, WAVES
from conformance.campaigns.seal import is_sealed
from conformance.campaigns.waves import BLOCKS, SUM
from conformance.components.deque import DequeScenarioConfig
from conformance.reporting.status import INTERNAL
from conformance.scenarios import Finding, Scenario, encode_scenario
from tests.bridges.conftest import PROGRAM
from tests.campaigns.edited import change_block, change_sum, sign
from tests.hostile import DEEP, SHAPES, remove_nested_folders, resealed
from tests.meeting import CONFORMS, FOUND, INCONCLUSIVE, LIMITS, NOT_WRITTEN, REFUSED, ROOT, Case, Met, met
from tests.mutated import KINDS, Kind, statuses, table
from tests.strange_states import leading_nowhere, listed, nested, piped, sparse, state
from tests.stranger_commands import GUARDED
from tests.stranger_words import WORDS

HOSTILE = "tests.engines.hostile:"
CHECK = ("check", "--component", "subpartition", "--scenarios", "60", *LIMITS)
CHECK_DEQUE = ("check", "--component", "deque", "--scenarios", "60", *LIMITS)
SHOWN = 200
DAMAGED = 1_000
"""How many damaged files of each kind are read."""
ESCAPED = "a string without end, of escaped quotes"


def _python(name: str) -> tuple[str, ...]:
    return (*CHECK, "--implementation", f"{HOSTILE}{name}")


def _lying(name: str) -> tuple[str, ...]:
    return (*CHECK, "--implementation", f"tests.lying:{name}")


def _lines(what: str, status: int = INCONCLUSIVE, **behaviour: str) -> Case:
    """A program that speaks the protocol, but for what it does to one request."""
    does = {"on_hello": "say(**HELLO)", "on_call": "outcome()", "on_scenario": "pass", **behaviour}
    command = f"jsonl:{shlex.join([sys.executable, 'program.py'])}"
    return Case(
        f"program: {what}", (*CHECK_DEQUE, "--implementation", command), status,
        lambda folder: _write(folder / "program.py", PROGRAM.format(**does).encode()),
    )  # fmt: skip


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _writes(data: str) -> str:
    return f"sys.stdout.buffer.write({data} + b'\\n'); sys.stdout.flush()"


def _file(what: str, name: str, content: bytes, *arguments: str) -> Case:
    return Case(f"file: {what}", arguments, REFUSED, lambda folder: _write(folder / name, content))


def _scenario(what: str, content: bytes) -> Case:
    return _file(f"scenario, {what}", "scenario.json", content, "replay", "scenario.json")


def _pipe(name: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return prepare


def _naming(name: str) -> bytes:
    finding = Finding("all-others-keep-their-order", "reordered", name)
    return encode_scenario(Scenario("deque", DequeScenarioConfig(), (("add", 0),), finding)).encode()


def _signed(folder: Path) -> None:
    _write(folder / _SUM, DEEP)
    sign(folder, SUM)


def _polling(times: int) -> bytes:
    return encode_scenario(Scenario("deque", DequeScenarioConfig(), (("poll",),) * times)).encode()


def _campaign(what: str, change: Callable[[Path], None], *arguments: str) -> Case:
    def prepare(folder: Path) -> None:
        plan = make_plan("s", ["known-bug:B-01"], ["subpartition"], scenarios=60, block=30, budget=0)
        start(folder / "campaign", plan, Inline())
        change(folder / "campaign")

    return Case(f"campaign: {what}", ("campaign", arguments[0], "campaign", *arguments[1:]), REFUSED, prepare)


def _refused(what: str, *arguments: str, prepare: Callable[[Path], None] = lambda folder: None) -> Case:
    return Case(f"no room for a file: {what}", arguments, NOT_WRITTEN, prepare, largest=60)


def _failing(folder: Path) -> None:
    shutil.copy(ROOT / "tests" / "corpus" / "B-01.json", folder / "scenario.json")


def _ended(folder: Path) -> None:
    start(folder / "campaign", make_plan("s", ["reference"], ["deque"], scenarios=20, block=20, budget=0), Inline())


def _audit(what: str, prepare: Callable[[Path], None], status: int = FOUND) -> Case:
    """A folder of channel state. `prepare` is given the folder of the command, with the folder `states` in it."""

    def prepared(folder: Path) -> None:
        (folder / "states").mkdir()
        prepare(folder / "states")

    return Case(f"channel state: {what}", ("audit", "states"), status, prepared)


def _edited(name: str, edit: Callable[[Any], None], sealed: bool = False) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        document = json.loads(path.read_bytes())
        edit(document)
        data = resealed(document) if sealed else json.dumps(document).encode()
        assert is_sealed(data) == sealed
        path.write_bytes(data)

    return change


def _unfinished(change: Callable[[Path], None]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        change(folder)
        (folder / RESULT).unlink()
        shutil.rmtree(folder / WAVES)

    return changed


def _tally(document: Any) -> Any:
    return document["tallies"]["known-bug:B-01"]


def _part(document: Any) -> Any:
    return document["implementations"][0]["components"][0]


def _verdict(document: Any) -> Any:
    return next(one for one in _part(document)["properties"] if one["verdict"] == "failed")


_DAEMON = (
    "os.fork() or (os.setsid(), os.fork() and os._exit(0), os.execve('/bin/sleep', ['sleep', '600'], {})); os._exit(0)"
)
_JUMPING = b"""
import itertools, time
really, jumps = time.time, itertools.cycle((3e7, -3e7))
time.time = lambda: really() + next(jumps)
"""
_CUTTING = b"""
import os, pathlib
really = os.open
def cutting(path, *more, **options):
    if "campaign/waves" in str(path):
        for one in pathlib.Path("campaign/waves").rglob("*.*"):
            os.truncate(one, one.stat().st_size // 2)
    return really(path, *more, **options)
os.open = cutting
"""


def _cut_off(folder: Path) -> None:
    _ended(folder)
    _write(folder / "sitecustomize.py", _CUTTING)


_WAVE = f"{WAVES}/0/{WAVE}"
_SUM = f"{WAVES}/0/{SUM}/part-00000.parquet"
_BLOCK = f"{WAVES}/0/{BLOCKS}/part-00000.parquet"
_TOUCH = "jsonl:sh -c 'touch escaped'"
_INLINE = ("--runner", "inline")
CASES = (
    Case("Python: `os._exit(0)` in an operation", _python("exits_in_silence"), INCONCLUSIVE),
    Case("Python: `sys.exit(0)` in an operation", _python("exits"), INCONCLUSIVE),
    Case("Python: `os._exit(0)` in an operation with the name of a turn", _python("exits_in_finish"), INCONCLUSIVE),
    Case("Python: an operation without end with the name of a turn", _python("hangs_in_finish"), INCONCLUSIVE),
    Case("Python: `os._exit(0)` when it is made", _python("exits_when_made"), REFUSED),
    Case("Python: `os.abort()` after an escape sequence", _python("aborts"), INCONCLUSIVE),
    Case("Python: an operation without end", _python("hangs"), INCONCLUSIVE),
    Case("Python: an operation without end that swallows the alarm", _python("swallows_the_alarm"), INCONCLUSIVE),
    Case("Python: 40 MiB more with each operation", _python("leaks"), INCONCLUSIVE),
    Case("Python: 16 MiB to stderr and stdout with each flush", _python("floods"), CONFORMS),
    Case("Python: a daemon without an environment", _python("leaves_a_daemon"), CONFORMS),
    Case("Python: a daemon without an environment, and SIGKILL to its parent", _python("kills_its_parent"),
         INCONCLUSIVE),
    Case("Python: a child of its own session, then `os._exit(0)`", _python("leaves_a_program"), INCONCLUSIVE),
    Case("Python: `os._exit(0)`, with Hypothesis", (*_python("exits_in_silence"), "--engine", "hypothesis"),
         INCONCLUSIVE),
    Case("Python: `os._exit(0)`, in a campaign",
         ("campaign", "start", "campaign", "--scenarios", "40", "--component", "subpartition", *_INLINE,
          "--implementation", "reference", "--implementation", f"{HOSTILE}exits_in_silence"), INCONCLUSIVE),
    Case("Python: a child of its own session, in a campaign",
         ("campaign", "start", "campaign", "--scenarios", "40", "--component", "subpartition", "--runner", "processes",
          "--implementation", "reference", "--implementation", f"{HOSTILE}leaves_a_program"), INCONCLUSIVE),
    Case("Python: a number that is equal to everything", _lying("number_equal_to_all"), INCONCLUSIVE),
    Case("Python: 1 for true", _lying("one_for_true"), INCONCLUSIVE),
    Case("Python: `signals` is None", _lying("no_signals"), INCONCLUSIVE),
    Case("Python: a number that is equal to everything, with Hypothesis",
         (*_lying("number_equal_to_all"), "--engine", "hypothesis"), INCONCLUSIVE),
    Case("Python: a number that is equal to everything, in a campaign",
         ("campaign", "start", "campaign", "--scenarios", "40", "--component", "subpartition", *_INLINE,
          "--implementation", "reference", "--implementation", "tests.lying:number_equal_to_all"), INCONCLUSIVE),
    Case("Python: lets priority events pass a blocked subpartition, and does not claim it",
         (*CHECK, "--implementation", "tests.claiming:modest"), FOUND, told="claim: you seem to have"),
    Case("Python: the same, to the doctor", ("doctor", "--implementation", "tests.claiming:modest"), FOUND,
         told="It seems to have `blocked-priority-local`"),
    Case("Python: claims `faults`, and refuses every fault",
         (*CHECK, "--implementation", "tests.claiming:refusing"), CONFORMS, told="claimed and never used: `faults`"),
    Case("Python: the same, to the doctor", ("doctor", "--implementation", "tests.claiming:refusing"), FOUND,
         told="It claims `faults`, but `fault` returned false"),
    Case("clock: it jumps by a year, back and forth, and an operation does not end", _python("hangs"), INCONCLUSIVE,
         lambda folder: _write(folder / "sitecustomize.py", _JUMPING)),
    Case("campaign: its blocks are cut off while it is read", ("campaign", "status", "campaign"), REFUSED, _cut_off),
    _lines("answers 1.0 to each call", on_call="outcome(value=1.0)"),
    _lines("answers true to each call", on_call="outcome(value=True)"),
    Case("Python: an operation without end, with the doctor",
         ("doctor", *LIMITS, "--implementation", f"{HOSTILE}swallows_the_alarm"), INCONCLUSIVE),
    Case("Python: does not say what it offers, with the doctor",
         ("doctor", *LIMITS, "--implementation", f"{HOSTILE}hangs_when_asked"), INCONCLUSIVE),
    Case("Python: does not end its audit",
         ("audit", ".", *LIMITS, "--implementation", f"{HOSTILE}hangs_when_asked"), INCONCLUSIVE),
    *GUARDED,
    _lines("exits at a call", on_call="sys.exit(0)"),
    _lines("exits before it greets", REFUSED, on_hello="sys.exit(0)"),
    _lines("answers nothing", on_call="import time; time.sleep(1000)"),
    _lines("greets with an escape sequence", REFUSED,
           on_hello=r"say(**{**HELLO, 'name': '\x1b[2Jmine', 'components': []})"),
    _lines("answers with bytes that are not UTF-8", on_call=_writes(r"b'{\"type\": \"\xff\"}'")),
    _lines("answers with 100,000 brackets", on_call=_writes("b'[' * 100_000")),
    _lines("answers with a number of 100,000 digits",
           on_call=_writes("b'{\"type\": \"outcome\", \"outcome\": {\"value\": ' + b'9' * 100_000 + b'}}'")),
    _lines("answers in UTF-16", on_call=_writes("'{\"type\": \"opened\"}'.encode('utf-16').replace(b'\\n', b'')")),
    _lines("answers with a line without end",
           on_call="exec('while True: sys.stdout.buffer.write(b\"x\" * 65536)')"),
    _lines("answers with 2 MiB of a string without end, of escaped quotes",
           on_call=_writes(r"b'[' + b'\"' + b'\\\"' * (1 << 20)")),
    _lines("answers with 3 MiB of empty lists",
           on_call=_writes("b'{\"type\": \"outcome\", \"outcome\": {\"value\": [[]' + b',[]' * (1 << 20) + b']}}'")),
    _lines("takes all memory", on_call="hold = []; exec('while True: hold.append(bytearray(8 << 20))')"),
    _lines("writes 16 MiB to stderr at a call and exits", on_call="os.write(2, b'flood\\n' * 2_800_000); sys.exit(0)"),
    _lines("leaves a daemon without an environment at each call and exits", on_call=_DAEMON),
    _lines("forks at each call and exits",
           on_call="pid = os.fork(); exec('import time\\nif not pid: os.setsid(); time.sleep(600)'); os._exit(0)"),
    _scenario("names a program to run", _naming(_TOUCH)),
    _scenario("names a module to load", _naming("escaping:make")),
    _scenario("100,000 brackets", DEEP),
    _scenario("a number of 5,000 digits", b'{"schema": ' + b"9" * 5_000 + b"}"),
    _scenario("in UTF-16", _naming("reference").decode().encode("utf-16")),
    _scenario("cut off", _naming("reference")[:60]),
    _scenario("65 MiB", b" " * (65 << 20)),
    _scenario("4 MiB of a string without end, of escaped quotes", SHAPES[ESCAPED](4 << 20)),
    _scenario("4 MiB of lists in each other", SHAPES["lists in each other"](4 << 20)),
    _scenario("a number of 10⁹⁹⁹⁹⁹⁹⁹⁹⁹",
              b'{"schema": 2, "component": "deque", "config": {"a": 1e999999999}, "steps": []}'),
    _scenario("10,001 steps", _polling(10_001)),
    Case("pipe: a scenario", ("replay", "f"), REFUSED, _pipe("f")),
    Case("pipe: known failures", (*CHECK_DEQUE, "--known-failures", "f"), REFUSED, _pipe("f")),
    Case("pipe: a module", (*CHECK_DEQUE, "--implementation", "f:Adapter"), REFUSED, _pipe("f.py")),
    Case("pipe: the page of bug reports", (*CHECK_DEQUE, "--bug-reports", "d"), REFUSED, _pipe("d/index.html")),
    Case("pipe: a plan", ("campaign", "resume", "campaign"), REFUSED, _pipe(f"campaign/{PLAN}")),
    Case("pipe: a result", ("campaign", "report", "campaign"), REFUSED, _pipe(f"campaign/{RESULT}")),
    Case("pipe: the lock of a campaign",
         ("campaign", "start", "c", "--component", "deque", "--scenarios", "20", *_INLINE), REFUSED,
         _pipe("c/driver.lock")),
    Case("pipe: where the result is to be written", (*CHECK_DEQUE, "--json", "f"), REFUSED, _pipe("f")),
    Case("pipe: where a scenario of a corpus is to be written", ("bugs", "B-D1", "--corpus", "c"), REFUSED,
         _pipe("c/B-D1.json")),
    _file("known failures with a key of 200,000 parts", "known.toml", b"a." * 200_000 + b"a=1",
          "check", "--component", "deque", "--scenarios", "1", "--known-failures", "known.toml"),
    _file("known failures with 2,000 tables in each other", "known.toml", b"a=" + b"{a=" * 2_000,
          "check", "--component", "deque", "--scenarios", "1", "--known-failures", "known.toml"),
    _refused("a check", *CHECK_DEQUE, "--json", "f"),
    _refused("the kill matrix", "bugs", "B-D1", "--report", "f"),
    _refused("an exploration", "explore", "--component", "deque", "--depth", "3", "--json", "f"),
    _refused("a reduction", "shrink", "scenario.json", "-o", "f", prepare=_failing),
    _refused("a campaign", "campaign", "start", "c", "--component", "deque", "--scenarios", "20", *_INLINE),
    _refused("tables", "campaign", "status", "campaign", "--store", prepare=_ended),
    _audit("a list that is not UTF-8", listed(b'{"file": "\xff"}')),
    _audit("a list of 100,000 brackets", listed(DEEP)),
    _audit("1,200 folders in each other", nested),
    _audit("a sparse file of 6 GiB", sparse("a.state")),
    _audit("a sparse list of 6 GiB", sparse("a.state.json")),
    _audit("40,000 records in one state", lambda folder: state(folder, 40_000), CONFORMS),
    _audit("2,000 handles of one segment of 8 MB", lambda folder: state(folder, 400_000, 2_000)),
    _audit("a name that is markup, with an escape sequence",
           lambda folder: state(folder, name="[bold]\x1b[2J[link=x]a.state"), CONFORMS),
    _audit("a name of several lines", lambda folder: state(folder, name="a\nNothing is damaged.state"), CONFORMS),
    _audit("a link that leads nowhere", leading_nowhere),
    _audit("a pipe", piped),
    _campaign("the plan names a program to run", _unfinished(
        _edited(PLAN, lambda plan: plan.update(implementations=[_TOUCH]))), "resume", *_INLINE),
    _campaign("the result names a program to run", _edited(RESULT, lambda one: (
        one["plan"].update(implementations=[_TOUCH]), one["implementations"][0].update(name=_TOUCH))[0]), "report"),
    _campaign("a result whose property is `../../x`", _edited(RESULT, lambda one: one["implementations"][0][
        "components"][0]["findings"][0].update(property="../../x")), "report"),
    _campaign("a result with a verdict that somebody edited", _edited(RESULT, lambda one: _verdict(one).update(
        verdict="passed"), sealed=True), "report"),
    _campaign("a result without its findings", _edited(RESULT, lambda one: (
        _part(one)["findings"].clear(), one["implementations"][0]["causes"].clear())[0], sealed=True), "report"),
    _campaign("a result with 10¹⁸ scenarios", _edited(
        RESULT, lambda one: _part(one).update(scenarios=10**18), sealed=True), "report"),
    _campaign("a result with 10¹⁸ steps", _edited(
        RESULT, lambda one: _part(one).update(steps=10**18), sealed=True), "report"),
    _campaign("a block whose property is `../../x`", lambda folder: change_block(
        folder, lambda one: _tally(one)["failures"][0].update(property="../../x")), "status", "--store"),
    _campaign("a block with 10¹² scenarios", lambda folder: change_block(
        folder, lambda one: _tally(one).update(scenarios=10**12)), "status", "--store"),
    _campaign("a block with other steps", lambda folder: change_block(
        folder, lambda one: _tally(one).update(steps=1)), "status", "--store"),
    _campaign("a sum whose property is `../../x`", lambda folder: change_sum(
        folder, lambda one: _tally(one)["failures"][0].update(property="../../x")), "status"),
    _campaign("a sum with 10¹² scenarios", lambda folder: change_sum(
        folder, lambda one: _tally(one).update(scenarios=10**12)), "status"),
    _campaign("a wave that somebody edited", _edited(_WAVE, lambda one: one["totals"].update(steps=1)), "status"),
    _campaign("pipe: a wave", _pipe(_WAVE), "status"),
    _campaign("pipe: a sum", _pipe(_SUM), "status"),
    _campaign("pipe: blocks", _pipe(_BLOCK), "status", "--store"),
    _campaign("a wave of 100,000 brackets", lambda folder: _write(folder / _WAVE, DEEP), "status"),
    _campaign("a sum of 100,000 brackets, with a checksum that fits", _signed, "status"),
    *WORDS,
)  # fmt: skip


BEFORE = {
    "Python: `os._exit(0)` in an operation with the name of a turn": "status 70, `IndexError`",
    "Python: a number that is equal to everything": "conformed",
    "Python: 1 for true": "conformed",
    "Python: an operation without end, with the doctor": "did not end",
    "Python: an operation without end, with `bugs`": "did not end",
    "Python: 2 MiB to stdout and stderr with each flush, with `bugs`": "everything was printed",
    "Python: lets priority events pass a blocked subpartition, and does not claim it":
        "accused, and not told what to claim",
    "Python: claims `faults`, and refuses every fault": "conformed, without a word",
    "program: answers with 2 MiB of a string without end, of escaped quotes": "140 s for one answer",
    "file: scenario, 4 MiB of a string without end, of escaped quotes": "more than a minute for 100 KiB",
    "file: scenario, a number of 10⁹⁹⁹⁹⁹⁹⁹⁹⁹": "status 70",
    "file: scenario, 10,001 steps": "read; a scenario had no limit",
    "file: known failures with a key of 200,000 parts": "30 s",
    "pipe: a scenario": "did not end",
    "pipe: a plan": "did not end",
    "pipe: where the result is to be written": "did not end",
    "no room for a file: a check": "status 70, without the name of the file",
    "channel state: a list that is not UTF-8": "status 70",
    "channel state: a list of 100,000 brackets": "status 70",
    "channel state: 1,200 folders in each other": "status 70",
    "channel state: a sparse file of 6 GiB": "read whole",
    "channel state: 40,000 records in one state": "41 s",
    "channel state: a name that is markup, with an escape sequence": "reached the terminal",
    "channel state: a link that leads nowhere": "not damaged",
    "campaign: a result with a verdict that somebody edited": "printed",
    "campaign: a result without its findings": "printed",
    "campaign: a result with 10¹⁸ scenarios": "printed",
    "words, program: greets with them": "forged a verdict",
    "words, known failures: the ticket and the reason": "reached the page",
    "words, known failures: the scenario is `../outside.json`": "was read",
}  # fmt: skip
"""What came of it before it was mended, as it was written down then."""


def _before(found: list[Met]) -> list[str]:
    """Return the lines of a table: what each hostile thing did before it was mended, and does now."""
    lines = ["| what was sent | before | now |", "|---|---|---|"]
    for one in found:
        if before := BEFORE.get(one.case.what):
            now = f"status {one.status}, {one.seconds:.1f} s, {one.mebibytes:,} MiB"
            lines.append(f"| {one.case.what} | {before} | {now} |")
    return lines


def report(found: list[Met], damaged: Sequence[tuple[Kind, Counter[int]]] = ()) -> str:
    """Return the page. `damaged` says in which status the commands ended for damaged files of each kind."""
    lines = [
        "# Hostile programs and files",
        "",
        "Written by `python -m tests.strangers`. Each line is one command of the suite that meets something hostile. "
        f"Limits of the checks: `{shlex.join(LIMITS)}`. *Memory* is that of the largest process. *Left*: processes "
        "that were still running when the command had ended. No command wrote an escape sequence of a stranger, ran "
        "what a file names, or wrote outside of its folder, unless the line says *escaped*.",
        "",
        "| what was sent | command | what came of it | status | memory, MiB | seconds | left |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for one in found:
        said = one.said if len(one.said) <= SHOWN else f"{one.said[:SHOWN]} …"
        status = f"{one.status}" if one.status == one.case.status else f"{one.status}, expected {one.case.status}"
        cells = [
            one.case.what, f"`{' '.join(one.case.arguments[:1 + (one.case.arguments[0] == 'campaign')])}`",
            said + (" **escaped**" if one.escaped else ""), status, f"{one.mebibytes:,}", f"{one.seconds:.1f}",
            str(one.left),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    well = sum(one.is_well for one in found)
    lines += ["", f"{well} of {len(found)} as they should be.", "", "## Before", "", *_before(found)]
    if damaged:
        wrong = sum(counts[INTERNAL] for _, counts in damaged)
        lines += [
            "", "## Files that are damaged at random", "",
            f"Bytes are cut off or changed, or values are exchanged or taken away. {wrong} of them ended a command in "
            f"status {INTERNAL}, an error of the suite itself.", "",
            *table(damaged),
        ]  # fmt: skip
    return "\n".join([*lines, ""])


def main() -> None:
    found = []
    for case in CASES:
        if not any(word in case.what for word in sys.argv[2:] or [""]):
            continue
        with tempfile.TemporaryDirectory(prefix="conformance-strangers-") as folder:
            found.append(met(case, Path(folder)))
            far = Path(folder, "a", "b", "states", "d")
            if far.is_dir():
                remove_nested_folders(far)
        one = found[-1]
        print(f"{'ok ' if one.is_well else 'NOT'} {one.status} {one.seconds:5.1f} s  {case.what}", flush=True)
    damaged: list[tuple[Kind, Counter[int]]] = []
    for kind in KINDS if not sys.argv[2:] else ():
        with tempfile.TemporaryDirectory(prefix="conformance-strangers-") as folder:
            damaged.append((kind, statuses(kind, DAMAGED, Path(folder))))
        print(f"{DAMAGED:,} files, {kind.what}: {dict(damaged[-1][1])}", flush=True)
    Path(sys.argv[1]).write_text(report(found, damaged), encoding="utf-8")
    sys.exit(not all(one.is_well for one in found) or any(counts[INTERNAL] for _, counts in damaged))


if __name__ == "__main__":
    main()
