"""`python -m conformance.bridges.jsonl NAME` serves an implementation in Python over JSON Lines."""

from __future__ import annotations

import os
import sys

from conformance.bridges.jsonl.serve import serve
from conformance.ports import UnusableImplementation, find_implementation


def main(arguments: list[str]) -> int:
    """Returns the exit status: 0, or 2 if there is no such implementation."""
    if len(arguments) != 1:
        print("usage: python -m conformance.bridges.jsonl NAME", file=sys.stderr)
        return 2
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not end up among the answers
    try:
        serve(find_implementation(arguments[0]), sys.stdin.buffer, answers)
    except UnusableImplementation as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
