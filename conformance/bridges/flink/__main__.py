"""`python -m conformance.bridges.flink fetch VERSION…` downloads the jars of these releases, where they are missing."""

from __future__ import annotations

import argparse
import sys

from conformance.bridges.flink.releases import KNOWN_RELEASES, fetch
from conformance.ports import UnusableImplementation


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 if a release could not be fetched."""
    parser = argparse.ArgumentParser(prog="python -m conformance.bridges.flink", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch", help="download the jars of releases")
    fetching.add_argument("versions", nargs="+", metavar="VERSION", help=f"known are {', '.join(KNOWN_RELEASES)}")
    for version in parser.parse_args(arguments).versions:
        print(f"Flink {version}: ", end="", flush=True)
        try:
            print(fetch(version)[0].parent)
        except UnusableImplementation as error:
            print("not fetched", flush=True)
            print(error, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
