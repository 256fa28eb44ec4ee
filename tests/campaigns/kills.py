"""Kills the processes of campaigns at random, resumes them, and compares their results with an undisturbed one.

    python -m tests.campaigns.kills reports/kills.md

The victims are drivers, processes that run blocks, Python workers and executors of Spark, and JVMs of drivers.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from conformance.campaigns import CampaignError, Inline, choose, make_plan, resume, rounds, start
from conformance.campaigns.files import PLAN as PLAN_FILE
from conformance.campaigns.files import RESULT
from conformance.campaigns.waves import numbers
from tests.campaigns.cluster import LOCAL, Cluster, cluster

ROOT = Path(__file__).parents[2]
NAMES = ("reference", "reference-recover-first", "known-bug:B-01", "tests.campaigns.dying:at_a_late_checkpoint")
"""The last one ends its process in some scenarios."""
COMPONENTS = ("deque", "persister", "recovered-channel", "subpartition")
PLAN = make_plan("kills", NAMES, COMPONENTS, scenarios=200, block=20, budget=100)
KINDS = {
    "driver": "",
    "process worker": "conformance.campaigns.apart_main",
    "Spark worker": "pyspark.daemon",
    "executor": "CoarseGrainedExecutorBackend",
    "JVM": "deploy.SparkSubmit",
}
"""Text in the command line of each kind of process. That of a driver is known."""
MARK = "CONFORMANCE_KILLS"
WAVE_SECONDS = 1.0
"""Waves are short, so that there are several of them, and kills between them and in each of their parts."""
PAUSE = (0.5, 6.0)
"""How many seconds pass until the next process is killed."""
EXECUTORS = 2
"""Executors exist in one environment only, so that many times as many of them are killed there."""
QUIET = 600
"""A driver that runs longer than this without being killed hangs."""


@dataclass
class Trial:
    """What became of the campaigns in one environment."""

    environment: str
    kills: Counter[str] = field(default_factory=Counter)
    after_a_commit: int = 0
    """How many drivers were killed after their campaign had committed a block."""
    campaigns: int = 0
    lost: int = 0
    doubled: int = 0
    equal: int = 0
    """How many campaigns had the bytes of the undisturbed one as their result."""
    seconds: float = 0.0


def processes(mark: str) -> Iterator[tuple[int, str]]:
    """Yield the running processes that bear the mark, with their command lines."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                environment = Path("/proc", name, "environ").read_bytes()
                command = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if f"{MARK}={mark}\0".encode() in environment + b"\0":
                yield int(name), command.replace(b"\0", b" ").decode(errors="replace")


def victims(mark: str, driver: int, kind: str) -> list[int]:
    """Return the processes of one kind. A daemon of Spark that only forks workers is none."""
    if kind == "driver":
        return [driver]
    found = {pid: command for pid, command in processes(mark) if KINDS[kind] in command}
    if kind == "Spark worker":
        return sorted(pid for pid in found if _parent(pid) in found)
    return sorted(found)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def disturbed(
    folder: Path, runner: str, master: str, left: Counter[str], chance: random.Random, trial: Trial,
    variables: Mapping[str, str],
) -> None:  # fmt: skip
    """Run one campaign to its end, and kill processes of the kinds in `left` as long as there are any."""
    mark = f"{os.getpid()}-{folder.name}"
    environment = {**os.environ, **variables, MARK: mark, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.campaigns.kills", "--drive", str(folder), runner, master]
    while not (folder / RESULT).exists():
        with (folder.parent / f"{folder.name}.log").open("ab") as log:
            driver = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
        try:
            while True:
                kinds = sorted(kind for kind, number in left.items() if number > 0)
                try:
                    code = driver.wait(chance.uniform(*PAUSE) if kinds else QUIET)
                except subprocess.TimeoutExpired:
                    if not kinds:
                        raise
                else:
                    if code not in (0, -signal.SIGKILL, DISTURBED):
                        raise AssertionError(f"the driver of {folder} ended with status {code}")
                    break
                kind = chance.choice(kinds)
                found = victims(mark, driver.pid, kind)
                if found and not (folder / RESULT).exists():
                    commits = bool(numbers(folder))
                    try:
                        os.kill(chance.choice(found), signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    trial.kills[kind] += 1
                    left[kind] -= 1
                    trial.after_a_commit += kind == "driver" and commits
        finally:
            driver.kill()
            driver.wait()


DISTURBED = 75
"""The status of a driver that cannot go on, because its JVM has ended."""


def drive(folder: Path, runner: str, master: str) -> int:
    """Start or resume a campaign."""
    rounds.WAVE_SECONDS = WAVE_SECONDS
    chosen = choose(runner, master or None, workers=None if master else 2)[0]
    try:
        if (folder / PLAN_FILE).exists():
            resume(folder, chosen, chosen=NAMES)
        else:
            start(folder, PLAN, chosen)
    except CampaignError as error:
        print(error, flush=True)
        return DISTURBED
    return 0


def compared(folder: Path, undisturbed: Path, trial: Trial) -> None:
    """Count what is missing in a result, and what is there twice."""
    found, expected = ((one / RESULT).read_bytes() for one in (folder, undisturbed))
    trial.campaigns += 1
    trial.equal += found == expected
    for mine, theirs in zip(_counts(found), _counts(expected), strict=True):
        trial.lost += max(0, theirs - mine)
        trial.doubled += max(0, mine - theirs)


def _counts(result: bytes) -> list[int]:
    document = json.loads(result)
    return [part["scenarios"] for one in document["implementations"] for part in one["components"]]


ENVIRONMENTS = {
    "processes": ("driver", "process worker"),
    "local Spark": ("driver", "process worker", "Spark worker", "JVM"),
    "standalone Spark": ("driver", "process worker", "Spark worker", "executor", "JVM"),
}
"""The kinds of processes that are killed in each environment."""


def trials(kills: int, seed: str, folder: Path, environments: Iterable[str] = ENVIRONMENTS) -> list[Trial]:
    """Kill as many processes of each kind in each environment that has it, in as many campaigns as that takes."""
    undisturbed = folder / "undisturbed"
    start(undisturbed, PLAN, Inline())
    found = []
    with ExitStack() as closing:
        for environment in environments:
            kinds = ENVIRONMENTS[environment]
            trial, chance = Trial(environment), random.Random(f"{seed}/{environment}")
            left = Counter({kind: EXECUTORS * kills if kind == "executor" else kills for kind in kinds})
            master, variables, runner = "", dict[str, str](), "processes"
            if environment == "local Spark":
                runner = "spark"
            elif environment == "standalone Spark":
                place = folder / "cluster"
                place.mkdir()
                runner = "spark"
                there: Cluster = closing.enter_context(cluster(place))
                master, variables = there.url, {**LOCAL, "PYSPARK_PYTHON": str(there.python)}
            began, number = time.monotonic(), 0
            while sum(left.values()):
                where = folder / f"{runner}-{environment.split()[0]}-{number}"
                if master:
                    os.environ[MARK] = f"{os.getpid()}-{where.name}"  # executors inherit it from their workers
                    workers = [there.add_worker() for _ in range(2)]
                    del os.environ[MARK]
                disturbed(where, runner, master, left, chance, trial, variables)
                for worker in workers if master else ():
                    worker.kill()
                compared(where, undisturbed, trial)
                number += 1
                print(f"{environment}: {dict(trial.kills)}, {trial.equal} of {trial.campaigns} equal", flush=True)
            trial.seconds = time.monotonic() - began
            found.append(trial)
    return found


def report(found: list[Trial], seed: str) -> str:
    """Return the page."""
    kinds = list(KINDS)
    lines = [
        "# Killed at random",
        "",
        f"Written by `python -m tests.campaigns.kills`, seed `{seed}`. Every campaign runs {len(list(PLAN.blocks()))} "
        f"blocks of {PLAN.block} scenarios on {len(NAMES)} implementations, one of which ends its process in some "
        "scenarios. While it runs, its processes are killed with SIGKILL at random moments; a campaign whose driver or "
        "JVM was killed is resumed. *Equal*: `result.json` has the bytes of a campaign that ran undisturbed in one "
        "process. *Lost* and *doubled* are scenarios that the result counts too rarely or too often.",
        "",
        "| environment | " + " | ".join(kinds) + " | kills | campaigns | equal | lost | doubled | seconds |",
        "|---|" + "---:|" * (len(kinds) + 6),
    ]
    for one in found:
        cells = [str(one.kills[kind] or "") for kind in kinds]
        numbers = (sum(one.kills.values()), one.campaigns, one.equal, one.lost, one.doubled, round(one.seconds))
        lines.append(f"| {one.environment} | " + " | ".join([*cells, *map(str, numbers)]) + " |")
    total = [sum(one.kills[kind] for one in found) for kind in kinds]
    numbers = (
        sum(total), *(sum(getattr(one, name) for one in found) for name in ("campaigns", "equal", "lost", "doubled")),
        round(sum(one.seconds for one in found)),
    )  # fmt: skip
    lines.append("| **all** | " + " | ".join(map(str, [*total, *numbers])) + " |")
    after = sum(one.after_a_commit for one in found)
    lines += ["", f"{after} of the {total[0]} drivers were killed after their campaign had committed a block.", ""]
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1] == "--drive":
        sys.exit(drive(Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
    seed, kills = "kills", int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory(prefix="conformance-kills-") as folder:
        found = trials(kills, seed, Path(folder))
    Path(sys.argv[1]).write_text(report(found, seed), encoding="utf-8")
    sys.exit(any(one.equal < one.campaigns for one in found))


if __name__ == "__main__":
    main()
