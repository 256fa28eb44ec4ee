"""`conformance docs`: the documentation that is installed with the suite."""

from __future__ import annotations

import difflib

import click

from conformance import reporting
from conformance.cli.options import out
from conformance.reporting.status import CONFORMS
from conformance.system.packaged import all_files, documentation

DECISIONS = "decisions/"
"""The folder whose pages are not listed, except its table of contents: they are for those who change the suite."""


@click.command(short_help="Print a page of the documentation, or list the pages.")
@click.argument("page", required=False)
def docs(page: str | None) -> int:
    """List the pages of the documentation, or print PAGE, in Markdown. A PAGE is for example tutorial or gate. With an
    anchor, print a part of it: gate#G7 or spill.md#operations."""
    folder = documentation()
    if folder is None:
        raise click.UsageError("the documentation is not installed")
    pages = {str(place.with_suffix("")): file for place, file in all_files(folder) if place.suffix == ".md"}
    if page is not None:
        name, _, anchor = page.partition("#")
        wanted = name.removeprefix("docs/").removesuffix(".md")
        short = {name.rpartition("/")[2]: name for name in reversed(pages)}
        found = pages.get(wanted) or pages.get(short.get(wanted, ""))
        if found is None:
            near = difflib.get_close_matches(wanted, [*pages, *short], n=3) or ["tutorial"]
            raise click.UsageError(f"there is no page {page!r}; `conformance docs` lists them. Near: {', '.join(near)}")
        text = found.read_text(encoding="utf-8")
        part = reporting.part_of(text, anchor) if anchor else text
        if part is None:
            raise click.UsageError(
                f"{wanted} has no part {anchor!r}; its sections are {', '.join(reporting.parts_of(text))}"
            )
        out.print_lines(part.removesuffix("\n"))
        return CONFORMS
    listed = {
        name: file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for name, file in sorted(pages.items(), key=lambda one: ("/" in one[0], one[0]))
        if not name.startswith(DECISIONS) or name == f"{DECISIONS}README"
    }
    width = max(map(len, listed))
    for name, title in listed.items():
        out.print(f"{name:{width}}  {title}", soft_wrap=True)
    out.print()
    out.print(f"`conformance docs PAGE` prints a page. The files are in {folder}", soft_wrap=True)
    return CONFORMS
