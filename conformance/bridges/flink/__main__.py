"""Downloads the jars of Flink releases, and runs the job that checks the coordinator protocol."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from conformance.bridges.flink.job.campaign import Result, campaign
from conformance.bridges.flink.job.report import figures, write_report
from conformance.bridges.flink.job.table import PLANS
from conformance.bridges.flink.releases import JOBS, KNOWN_RELEASES, fetch
from conformance.ports import UnusableImplementation
from conformance.system.termination import as_ctrl_c
from conformance.system.text import indented, neutral_line


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0; 1 if the job found something; 2 if a release could not be fetched or run; 130."""
    options = _parser().parse_args(arguments)
    try:
        with as_ctrl_c():
            return _fetch(options.versions) if options.command == "fetch" else _run_jobs(options)
    except UnusableImplementation as error:
        print(indented(str(error)), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. The report, if one was asked for, says what was run until then.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m conformance.bridges.flink", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch", help="download the jars of releases, where they are missing")
    fetching.add_argument("versions", nargs="+", metavar="VERSION", help=f"known are {', '.join(KNOWN_RELEASES)}")
    jobs = commands.add_parser("jobs", help="run the job that checks the coordinator protocol, and write its report")
    jobs.add_argument("--release", action="append", choices=JOBS.releases, help="may be repeated; default: all")
    jobs.add_argument(
        "--only",
        action="append",
        choices=[plan.name for plan in PLANS],
        metavar="NAME",
        help=f"a configuration; may be repeated; default: all of them: {', '.join(plan.name for plan in PLANS)}",
    )
    jobs.add_argument(
        "--minutes", type=float, default=0, help="begin rounds with other seeds for so long; default: one round"
    )
    jobs.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep what a run has printed in which something was found"
    )
    jobs.add_argument("--report", type=Path, required=True, metavar="FILE", help="the Markdown document")
    return parser


def _fetch(versions: list[str]) -> int:
    for version in versions:
        print(neutral_line(f"Flink {version}: "), end="", flush=True)
        try:
            print(neutral_line(str(fetch(version)[0].parent)))
        except UnusableImplementation:
            print("not fetched", flush=True)
            raise
    return 0


def _run_jobs(options: argparse.Namespace) -> int:
    end = time.monotonic() + 60 * options.minutes
    plans = [plan for plan in PLANS if not options.only or plan.name in options.only]
    results: list[Result] = []
    for result in campaign(plans, options.release or JOBS.releases, lambda: time.monotonic() < end, options.keep):
        results.append(result)
        print(neutral_line(_told(result)), flush=True)
        write_report(options.report, figures(results))  # after each run, so that an interrupt loses nothing
    return int(any(result.verdict.findings for result in results))


def _told(result: Result) -> str:
    kinds = sorted({finding.kind.value for finding in result.verdict.findings})
    run = f"{result.plan.name} on {result.release}, seed {result.config.seed}"
    return f"{run}: {result.verdict.checkpoints} checkpoints, {', '.join(kinds) or 'nothing found'}"


if __name__ == "__main__":
    sys.exit(main())
