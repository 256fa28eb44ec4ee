"""The command: two versions judge the same scenarios, and the table of their differences is printed."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import click

from conformance.reporting.markdown import table
from conformance.scenarios import read_toml
from tests.dual_run.comparing import Comparison, Difference, Names, Total, Understood
from tests.dual_run.judge import REFERENCES
from tests.versions import ROOT, Version, extract

JUDGE = Path(__file__).with_name("judge.py")
UNDERSTOOD = Path(__file__).with_name("understood.toml")
CORPUS = ROOT / "tests" / "corpus"
SHARES = {"reference": 1.0, "known-bug": 0.1, "legal-variant": 0.25}
"""How many scenarios each kind of implementation gets, as a share of `--scenarios`."""


class Case(NamedTuple):
    """One implementation of one component, with the scenarios that both versions draw, and the files they read."""

    kind: str
    implementation: str
    component: str
    seeds: tuple[str, ...]
    files: tuple[str, ...]


def cases(before: Any, after: Any, scenarios: int, kinds: Sequence[str], components: Sequence[str]) -> Iterator[Case]:
    """Yields what is to be compared."""
    corpus = {path.stem: path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.json"))}

    def seeds(kind: str, of: str) -> tuple[str, ...]:
        return tuple(f"dual/{of}/{number}" for number in range(max(1, round(scenarios * SHARES[kind]))))

    for kind in kinds:
        if kind == "reference":
            named = [(one, component) for component in before["components"] for one in REFERENCES]
        else:
            named = [(f"{kind}:{one}", of) for one, of in before[kind].items() if one in after[kind]]
        for implementation, component in named:
            if components and component not in components:
                continue
            if kind == "reference":
                mine = tuple(text for text in corpus.values() if f'"component": "{component}"' in text)
            else:
                mine = tuple(filter(None, [corpus.get(implementation.partition(":")[2])]))
            yield Case(kind, implementation, component, seeds(kind, f"{implementation}/{component}"), mine)


def compared(case: Case, before: Version, after: Version, names: Names, both_draw: bool) -> Comparison:
    """Returns the comparison of one case: each version judges what either draws, and the files."""
    comparison = Comparison()
    draw = {"implementation": case.implementation, "component": case.component, "seeds": case.seeds}
    drawn = before.ask(draw)
    texts = [one["scenario"] for one in drawn] + list(case.files)
    before.send({"implementation": case.implementation, "scenarios": case.files})
    after.send({"implementation": case.implementation, "scenarios": texts})
    old = [*drawn, *before.reply()]
    for text, one, two in zip(texts, old, after.reply(), strict=True):
        comparison.see(names, case.component, text, one, two)
    if both_draw:
        again = after.ask(draw)
        others = []
        for one, two in itertools.zip_longest(drawn, again):
            if one is None or two is None or one["scenario"] != two["scenario"]:
                comparison.note(Difference("drawing", case.component, ""), (two or one)["scenario"])
                if two is not None:
                    others.append(two)
        texts = [one["scenario"] for one in others]
        judged = before.ask({"implementation": case.implementation, "scenarios": texts})
        for one, two in zip(judged, others, strict=True):
            comparison.see(names, case.component, two["scenario"], one, two)
    return comparison


@click.command()
@click.argument("revision")
@click.option("--scenarios", default=300, show_default=True, help="For each reference; others get a share of them.")
@click.option("--component", "components", multiple=True, help="Only this component; may be given more than once.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(SHARES)), default=list(SHARES))
@click.option("--processes", default=2, type=click.IntRange(1), show_default=True)
@click.option(
    "--one-way", is_flag=True, help="Draw with REVISION only: it cannot read the steps that have changed since."
)
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write the tables here, too.")
def main(
    revision: str, scenarios: int, components: Sequence[str], kinds: Sequence[str], processes: int, one_way: bool,
    report: Path | None,
) -> None:  # fmt: skip
    """Compare the working copy with REVISION. Exit status 1 if there is a difference that nobody has explained."""
    understood = read_toml(UNDERSTOOD, dict[str, list[Understood]], "tables [[understood]] with why").get(
        "understood", []
    )
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        extract(revision, Path(scratch))
        pairs: SimpleQueue[tuple[Version, Version]] = SimpleQueue()
        for _ in range(processes):
            pair = stack.enter_context(Version(JUDGE, Path(scratch))), stack.enter_context(Version(JUDGE))
            pairs.put(pair)
        one, two = (version.ask({}) for version in pair)
        names, total = Names(two["components"]), Total()

        def compare(case: Case) -> tuple[Case, Comparison]:
            pair = pairs.get()
            try:
                return case, compared(case, *pair, names, case.component in two["components"] and not one_way)
            finally:
                pairs.put(pair)

        with ThreadPoolExecutor(processes) as pool:
            for case, comparison in pool.map(compare, cases(one, two, scenarios, kinds, components)):
                total.add(case.kind, case.component, comparison)
    text, unexplained = told(total, understood)
    click.echo(text)
    if report is not None:
        report.write_text(text, encoding="utf-8")
    raise SystemExit(1 if unexplained else 0)


def told(total: Total, understood: Sequence[Understood]) -> tuple[str, int]:
    """Returns the tables, and the number of kinds of differences that are not explained."""
    rows = [
        (kind, component, *(f"{n:,}" for n in (one.scenarios, one.steps, one.violations, one.differences.total())))
        for (kind, component), one in total.by.items()
    ]
    parts = [table(("kind", "component", "scenarios", "steps", "violations", "differences"), rows)]
    unexplained, differing = 0, []
    for (kind, _), comparison in sorted(total.by.items()):
        for difference, count in sorted(comparison.differences.items()):
            why = next((one.why for one in understood if one.means(difference, kind)), "")
            unexplained += not why
            what, component, slug = difference
            differing.append((kind, component, what, slug, str(count), why or "NOT UNDERSTOOD"))
            if not why:
                example = f"{kind} {' '.join(difference)}:\n\n```\n{comparison.examples[difference]}```"
                parts.append(f"An example of {example}")
    if differing:
        parts.insert(1, table(("kind", "component", "what", "property", "scenarios", "why"), differing))
    parts.append(f"{len(differing)} kinds of differences, {unexplained} of them not understood.")
    return "\n\n".join(parts), unexplained


if __name__ == "__main__":
    main()
