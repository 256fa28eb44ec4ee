"""Tries the defects of a blind hunt, keeps the record of the first try, and writes the page of all hunts.

    python -m tests.hunts.export build/hunt             what the authors of defects may read
    python -m tests.hunts.hunting try build/defects tests/hunts/1.json
    python -m tests.hunts.hunting page reports/hunts.md

A defect is sought in its own component. If no property notices it there, its histories are compared with the
reference's, in its own component and in each other one, so that one sees whether anything ever came to it; where
something did, the search goes on with the rules of that component.

A record is written once: what a suite finds that has seen the defects says little. What became of each defect is added
by hand: the known bug or legal variant that it is now, and for a survivor, why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.engines.works import Over
from conformance.ports import known_bugs, legal_variants
from conformance.ports.changes import read_catalogue
from conformance.reporting.markdown import cell, table
from conformance.system.writing import write_text
from tests.hunts.keeping import kept_over
from tests.hunts.sought import Seen, Sought

SEED = "hunt"
SCENARIOS = 20_000
COMPARED = 2_000
"""Whether a survivor changes anything is looked for in so many scenarios of its own component."""
GLANCE = 100
"""The same for each other component."""
RECORDS = Path(__file__).parent
GOAL = 97


class Defect(Struct, frozen=True, forbid_unknown_fields=True):
    """One defect as its author wrote it."""

    id: str
    promise: str
    """The anchor in the chapter of what it breaks."""
    summary: str
    run: str
    """A run in which one sees it."""
    change: str


class Defects(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of defects of one component."""

    component: str
    defect: tuple[Defect, ...]


class Tried(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What became of one defect."""

    id: str
    component: str
    promise: str
    summary: str
    found_by: str = ""
    """The property of its component that noticed it; empty: none did."""
    scenarios: int = 0
    """How many were run for that."""
    elsewhere: str = ""
    """If none of its component did: the component and the property that noticed it."""
    differs: int = 0
    """If none of its component did: in which scenario of it the history was not the reference's; 0: in none."""
    broke: str = ""
    """The error with which the suite itself ended, which finds nothing."""
    now: str = ""
    """The known bug or legal variant that it is today."""
    ruling: str = ""
    """Why it was not found, or the sentence that allows it, or why it is no defect."""

    @property
    def was_found(self) -> bool:
        return bool(self.found_by or self.elsewhere)


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """The first try of a hunt."""

    made: str
    """When, and by which version of the suite."""
    scenarios: int
    tried: tuple[Tried, ...]


def read(folder: Path) -> Iterator[tuple[str, Defect]]:
    """Yield the defects in a folder, each with its component. Raises: ValueError."""
    for file in sorted(folder.rglob("*.toml")):
        defects = read_catalogue(file, Defects)
        for one in defects.defect:
            yield defects.component, one


def try_all(
    defects: Sequence[tuple[str, Defect]], over: Over, scenarios: int = SCENARIOS,
    components: Collection[str] = tuple(COMPONENTS),
) -> list[Tried]:  # fmt: skip
    """Seek each defect in its component, and the survivors in all of `components`."""
    first: list[Seen] = list(over([Sought(component, one.change, SEED, scenarios) for component, one in defects]))
    survivors = [pair for pair, seen in zip(defects, first, strict=True) if not seen.found_by]
    again = [
        Sought(name, one.change, SEED, min(scenarios, COMPARED), min(scenarios, COMPARED))
        if name == component
        else Sought(name, one.change, SEED, scenarios, min(scenarios, GLANCE))
        for component, one in survivors
        for name in {component: None, **dict.fromkeys(components)}
    ]
    looked = {(work.change, work.component): seen for work, seen in zip(again, over(again), strict=True)}
    found = []
    for (component, one), seen in zip(defects, first, strict=True):
        about = (one.id, component, one.promise, one.summary)
        if seen.found_by:
            found.append(Tried(*about, seen.found_by, seen.scenarios))
            continue
        others = {name: looked[one.change, name] for name in components if name != component}
        elsewhere = next((f"{name}: {other.found_by}" for name, other in others.items() if other.found_by), "")
        mine = looked[one.change, component]
        broke = seen.broke or next((other.broke for other in (mine, *others.values()) if other.broke), "")
        found.append(Tried(*about, "", seen.scenarios, elsewhere, mine.differs, broke))
    return found


# ---- the page --------------------------------------------------------------------------------------------------------
def page(records: Mapping[str, Record], catalogued: Mapping[str, str]) -> str:
    """Return the page. `catalogued`: by id in a catalogue, the ticket of a known bug, or `variant`."""
    rows, parts = [], []
    for name, record in records.items():
        real = [one for one in record.tried if is_real(one, catalogued)]
        found = [one for one in real if one.was_found]
        others = [one for one in found if one.elsewhere]
        before = [one for one in found if catalogued.get(one.now, f"hunt-{name}") != f"hunt-{name}"]
        rows.append([
            name, cell(record.made), str(len(record.tried)), str(len(record.tried) - len(real)), str(len(real)),
            str(len(found)), _share(len(found), len(real)), str(len(others)), str(len(before)),
            _share(len(found) - len(before), len(real) - len(before)),
        ])  # fmt: skip
        parts += _part(name, record, catalogued)
    head = [
        "hunt", "made", "defects", "legal, or none", "real", "found", "share", "elsewhere", "known before",
        "share without these",
    ]  # fmt: skip
    return "\n".join([
        "# Blind hunts",
        "",
        "Defects written from the chapters, without their tables of properties and known bugs, and from the reference, "
        "by people who have not seen rules, steps, ledgers or catalogues. The figures are those of the first try. "
        f"A defect is sought in {SCENARIOS:,} scenarios of its component with the seed `{SEED}`; if no property "
        "notices it, with the rules of every other component that it changes (*elsewhere*). *Known before* are those "
        "that are found and were in a catalogue of known bugs already, word for word. One that no property "
        "noticed leaves the count only as a legal variant, with the sentence that allows it, or as a change that "
        f"changes nothing; others than its author rule on that. The goal is {GOAL} %. Written by "
        "`python -m tests.hunts.hunting page`.",
        "",
        table(head, rows),
        "",
        *parts,
    ])  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def is_real(one: Tried, catalogued: Mapping[str, str]) -> bool:
    """Whether it is a defect: not if it is a legal variant now, or if a ruling says that it changes nothing."""
    return one.was_found or not (catalogued.get(one.now) == "variant" or one.ruling.startswith("Nothing changes:"))


def _part(name: str, record: Record, catalogued: Mapping[str, str]) -> list[str]:
    rows = []
    for component in dict.fromkeys(one.component for one in record.tried):
        mine = [one for one in record.tried if one.component == component and is_real(one, catalogued)]
        found = sorted(one.scenarios for one in mine if one.found_by)
        rows.append([
            component, str(len(mine)), str(sum(one.was_found for one in mine)),
            str(found[len(found) // 2]) if found else "-", str(found[-1]) if found else "-",
        ])  # fmt: skip
    survivors = [
        [
            one.id, one.component, one.promise, cell(one.summary),
            str(one.differs) if one.differs else "never", one.now or "-", cell(one.ruling) or "-",
        ]
        for one in record.tried
        if not one.was_found
    ]  # fmt: skip
    return [
        f"## Hunt {name}",
        "",
        table(["component", "real", "found", "median of scenarios", "most"], rows),
        "",
        "What no property noticed. *Differs*: the first scenario of its component in which the history was not "
        f"the reference's, of {COMPARED:,}: where it is a number, a rule was too weak, and where it is never, no "
        "scenario came there, or nothing observable changes.",
        "",
        table(["defect", "component", "breaks", "what is wrong", "differs", "is now", "why"], survivors),
        "",
    ]


def _records() -> dict[str, Record]:
    return {
        file.stem: msgspec.json.decode(file.read_bytes(), type=Record)
        for file in sorted(RECORDS.glob("*.json"), key=lambda file: int(file.stem))
    }


def _catalogued() -> dict[str, str]:
    return {**{bug.id: bug.ticket for bug in known_bugs()}, **{one.id: "variant" for one in legal_variants()}}


@click.group()
def main() -> None:
    """Blind hunts."""


@main.command("try")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--made", required=True, help="When, and by which version of the suite.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
@click.option("--scenarios", type=int, default=SCENARIOS, show_default=True)
@click.option("--into", type=click.Path(path_type=Path), help="Keep each result there, and go on from it.")
def try_(folder: Path, record: Path, made: str, processes: int, scenarios: int, into: Path | None) -> None:
    """Seek the defects in a folder, and write the record of this first try."""
    if record.exists():
        raise click.ClickException(f"{record} is there: a hunt is tried once")
    with kept_over(into, "hunt", processes) as over:
        tried = try_all(list(read(folder)), over, scenarios)
    write_text(record, text_of(Record(made, scenarios, tuple(tried))))


def text_of(record: Record) -> str:
    """Return a record as a file that a person edits."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"


@main.command("page")
@click.argument("file", type=click.Path(path_type=Path))
def page_(file: Path) -> None:
    """Write the page of all hunts."""
    write_text(file, page(_records(), _catalogued()))


if __name__ == "__main__":
    main()
