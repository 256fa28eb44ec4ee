"""Serves an implementation in Python over JSON Lines, and generates the reference parts of the protocol page."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from conformance.bridges.jsonl.page import NoSuchSection, schema_text, with_sections
from conformance.bridges.jsonl.serve import serve
from conformance.bridges.jsonl.unstepped import Unstepped
from conformance.ports import UnusableImplementation, find_implementation
from conformance.scenarios import SchemaError, read_text
from conformance.system.text import indented
from conformance.system.writing import write_text


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 if the implementation or the page cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m conformance.bridges.jsonl", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="answer requests on stdin with an implementation in Python")
    serving.add_argument("name", metavar="NAME", help="as of --implementation: reference, module:object, known-bug:ID")
    serving.add_argument("--unstepped", action="store_true", help="only its jobs, whose threads work on their own")
    commands.add_parser("schema", help="print the JSON Schema of all messages")
    paging = commands.add_parser("page", help="rewrite the generated sections of a page")
    paging.add_argument("file", metavar="FILE", type=Path)
    chosen = parser.parse_args(arguments)
    try:
        match chosen.command:
            case "serve":
                _serve(chosen.name, chosen.unstepped)
            case "schema":
                print(schema_text(), end="")
            case "page":
                write_text(chosen.file, with_sections(read_text(chosen.file)))
    except (UnusableImplementation, NoSuchSection, SchemaError, OSError) as error:
        print(indented(str(error)), file=sys.stderr)
        return 2
    return 0


def _serve(name: str, unstepped: bool) -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not end up among the answers
    found = find_implementation(name)
    serve(Unstepped(found) if unstepped else found, sys.stdin.buffer, answers)


if __name__ == "__main__":
    sys.exit(main())
