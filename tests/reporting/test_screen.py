"""What is printed fits a screen, and in a pipe it has one property a line."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaigns import (
    CampaignResult,
    ComponentResult,
    DifferenceResult,
    FindingResult,
    ImplementationResult,
    LostBlock,
    PropertyResult,
    make_plan,
)
from conformance.campaigns.block import encode
from conformance.components import COMPONENTS
from conformance.driver import FailureClass, Kind, Level, Program, Setting, Verdict
from conformance.engines import Check, Found, KnownFailure, Standing, check
from conformance.engines.causes import Cause, likely_causes
from conformance.engines.exercise import Exercise
from conformance.engines.tally import Failure, Tally
from conformance.ports import DequeConfig, Item, find_implementation
from conformance.reporting import Remark, Tried, Verdicts, campaign_verdicts, print_verdicts, tried_in_check
from conformance.reporting.columns import Word
from conformance.reporting.console import CarefulConsole
from conformance.reporting.counts import Counts
from conformance.reporting.page import Content, page_of
from conformance.reporting.replaying import steps_words
from conformance.reporting.screen import LINES
from conformance.reporting.showing import BELOW
from conformance.scenarios import Scenario

REFERENCE = find_implementation("reference")
BROKEN = find_implementation("known-bug:B-D5")
SLUG = "a-poll-takes-the-head"
EXERCISE = Exercise((Setting("", "", "", ""),), (1,), {"poll": (1,)}, {}, {})


def checked(implementation, component="deque") -> Check:
    return check(Program(COMPONENTS[component], implementation), 30, 0, budget=100)


@pytest.fixture(scope="module")
def good() -> Tried:
    return tried_in_check("reference", [checked(REFERENCE)], ())


@pytest.fixture(scope="module")
def bad() -> Tried:
    checks = [checked(BROKEN)]
    return tried_in_check("known-bug:B-D5", checks, likely_causes(checks))


def printed(verdicts: Verdicts, everything: bool = False, terminal: bool = True) -> str:
    out = io.StringIO()
    console = CarefulConsole(file=out, width=80, color_system=None, force_terminal=terminal, highlight=False)
    print_verdicts(console, verdicts, everything)
    return out.getvalue()


def everything_of(name: str, failures: int = 0) -> Tried:
    """All components, unrun, with so many failures that have nothing to do with each other."""
    checks, causes = [], []
    for component in COMPONENTS.values():
        properties = [one for one in component.properties if one.kind is not Kind.SOMETIMES]
        exercised = {one.slug: 1_000_000 for one in component.properties}
        tally = Tally(scenarios=1_000_000, steps=70_000_000, exercised=exercised)
        found = []
        for one in properties[:failures]:
            scenario = Scenario(component.name, component.configs[0], ())
            signature = (one.slug, "lost", "poll")
            tally.failures[signature] = Failure(scenario, "owed " * 90, "seen " * 90, 7)
            found.append(Found(signature, "owed " * 90, "seen " * 90, scenario, 7))
        causes += [Cause((one,), (), ("B-01", "B-02")) for one in found]
        checks.append(Check(Program(component, REFERENCE), tally, tuple(found)))
    return tried_in_check(name, checks, causes)


def test_that_a_failure_shows_in_the_drain_is_said_if_no_step_has_its_name():
    scenario = Scenario("deque", DequeConfig(), (("add", Item(0, 7)), ("poll",)))
    at = {
        operation: steps_words(Found(("slug", "lost", operation), "owed", "seen", scenario, 1), COMPONENTS)
        for operation in ("poll", "resources", "new")
    }
    assert at["poll"].endswith("; poll")
    assert at["new"] == at["poll"]
    assert at["resources"] == f"up to the drain that ends every run and shows it: {at['poll']}"
    none = Scenario("deque", DequeConfig(), ())
    assert steps_words(Found(("slug", "lost", "poll"), "owed", "seen", none, 1), COMPONENTS).startswith("no steps: the")


# ---- on a terminal ---------------------------------------------------------------------------------------------------
def test_what_failed_comes_first_with_its_shortest_scenario(good: Tried, bad: Tried):
    text = printed(Verdicts((good, bad), reports=Path("reports")))
    first, *lines = text.splitlines()
    assert re.fullmatch(r"known-bug:B-D5, likely cause 1 of \d: \d+ propert(y|ies) FAILED in \d+ scenarios?", first)
    (cause, *_) = bad.causes
    assert f"  {cause.shortest.slug} (deque)" in lines
    assert any(line.startswith("  expected  ") for line in lines)
    assert any(line.startswith("  observed  ") for line in lines)
    assert any(line.startswith(f"  {len(cause.shortest.scenario.steps)} step") for line in lines)
    assert any(
        line.startswith(f"  again     conformance replay reports/deque-{cause.shortest.slug}-") for line in lines
    )
    table = next(number for number, line in enumerate(lines) if line.startswith("deque"))
    assert lines[table].split() == ["deque", "8", str(8 - len({found.slug for found in bad.causes[0].found})), "1"]


@pytest.mark.parametrize(
    "names", [("one",), ("one", "known-bug:two"), ("one", "reference-recover-first", "known-bug:B")]
)
@pytest.mark.parametrize("failures", [0, 1, 3])
def test_it_fits_a_screen_however_much_fails(names, failures):
    tried = tuple(everything_of(name, failures if name == names[-1] else 0) for name in names)
    lines = printed(Verdicts(tried)).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) + BELOW <= LINES
    heads = [line for line in lines if "pass" in line.split()]
    assert len(heads) == 1, "all implementations stand side by side"
    if failures:
        assert lines[0].startswith(
            f"{names[-1]}, likely cause 1 of {len(COMPONENTS) * failures}: 1 property FAILED in 7 scenarios"
        )
        assert "cause 2: " in lines[next(n for n, line in enumerate(lines) if not line) + 1]


def with_open(one: Tried) -> Tried:
    """Three properties of the fourth component were not exercised."""
    column = one.columns[3]
    slugs = [judged.slug for judged in column.judged if judged.kind != Kind.SOMETIMES.value][5:8]
    cells = {**column.cells, **{slug: replace(column.cells[slug], word=Word.NOT_EXERCISED) for slug in slugs}}
    return replace(one, columns=(*one.columns[:3], replace(column, cells=cells), *one.columns[4:]))


def test_everything_with_one_failure_in_three_implementations_has_forty_lines():
    """With a folder of reports, with a remark, and with properties that were not exercised."""
    bad = everything_of("known-bug:B-01", 1)
    bad = replace(bad, causes=bad.causes[:1])
    tried = (everything_of("reference"), everything_of("reference-recover-first"), bad)
    remark = Remark("Properties never judged in some setting: 32, mostly unsure: 1 (--exercise FILE).")
    verdicts = Verdicts(tuple(map(with_open, tried)), (remark,), Path("build/campaign/report"))
    lines = printed(verdicts).splitlines()
    assert sum(max(1, math.ceil(len(line) / 80)) for line in lines) + BELOW == LINES == 40
    assert lines[0] == "known-bug:B-01, likely cause 1 of 1: 1 property FAILED in 7 scenarios"
    for said in (
        "  expected  ",
        "  observed  ",
        "  0 steps   ",
        "  again     conformance replay build/campaign/report/",
    ):
        assert any(line.startswith(said) for line in lines)
    assert "open: not exercised or untestable. Not exercised: 3 (--all names them)" in lines
    heads = next(number for number, line in enumerate(lines) if line.startswith("properties "))
    assert [line.split()[0] for line in lines[heads + 1 : heads + 1 + len(COMPONENTS)]] == list(COMPONENTS)


def test_causes_are_all_shown_if_everything_is_asked_for():
    text = printed(Verdicts((everything_of("mine", 2),)), everything=True)
    assert text.count("likely cause ") == 2 * len(COMPONENTS)
    assert "likely causes more" not in text
    assert all(component in text for component in COMPONENTS)


def test_no_implementation_hides_another(good: Tried):
    tried = (everything_of("first", 2), good, everything_of("last", 1))
    text = printed(Verdicts(tried))
    assert text.startswith(f"first, likely cause 1 of {2 * len(COMPONENTS)}:")
    assert "\nlast, cause 1: " in text or f"\nlast, likely cause 1 of {len(COMPONENTS)}:" in text


def test_more_implementations_than_fit_stand_in_further_tables():
    text = printed(Verdicts(tuple(everything_of(f"implementation-{number}", 1) for number in range(6))))
    assert text.count("properties  ") > 1
    assert all(f"implementation-{number}" in text for number in range(6))
    assert max(map(len, text.splitlines())) <= 80


def test_what_was_not_exercised_is_named(good: Tried):
    (column,) = good.columns
    cells = {**column.cells, SLUG: replace(column.cells[SLUG], word=Word.NOT_EXERCISED)}
    open_ = replace(good, columns=(replace(column, cells=cells),))
    assert f"Not exercised, so not passed: 1: {SLUG} (deque)\n" in printed(Verdicts((open_,)))
    assert f"{SLUG} (deque of reference)" in printed(Verdicts((open_, replace(good, name="b"))))
    assert "Not exercised" not in printed(Verdicts((good,)))


def test_nothing_at_all_is_printed_without_an_error():
    assert printed(Verdicts(())) == ""
    assert printed(Verdicts(()), terminal=False) == ""
    text = printed(Verdicts((Tried("empty", ()),)))
    assert "empty: nothing was exercised. 0 scenarios." in text


# ---- in a pipe -------------------------------------------------------------------------------------------------------
def test_in_a_pipe_a_property_has_one_line_and_its_whole_name(good: Tried, bad: Tried):
    lines = printed(Verdicts((good, bad), reports=Path("reports")), terminal=False).splitlines()
    failed = [line for line in lines if line.startswith("FAILED ")]
    slugs = {found.slug for cause in bad.causes for found in cause.found}
    assert {tuple(line.split()[:4]) for line in failed} == {
        ("FAILED", "deque", slug, "known-bug:B-D5") for slug in slugs
    }
    assert all(re.search(r" \(\d+ scenarios?, \d+ steps?, cause \d\)$", line) for line in failed)
    assert lines[0] == failed[0]
    assert not any(mark in line for line in lines for mark in "─│┃━")
    assert [line.split()[:3] for line in lines if line.startswith("counts ")] == [
        ["counts", "deque", "reference"],
        ["counts", "deque", "known-bug:B-D5"],
    ]
    assert not any(line.startswith("passed ") for line in lines)


def test_in_a_pipe_every_property_has_a_line_if_everything_is_asked_for(good: Tried, bad: Tried):
    lines = printed(Verdicts((good, bad)), everything=True, terminal=False).splitlines()
    for one in (good, bad):
        for judged in one.columns[0].judged:
            assert sum(line.split()[1:4] == ["deque", judged.slug, one.label] for line in lines) == 1, judged
    assert f"passed deque {SLUG} reference (" in "\n".join(lines)


def test_a_name_with_blanks_does_not_move_component_and_property(bad: Tried):
    column = replace(bad.columns[0], name="jsonl:node adapter.js")
    lines = printed(Verdicts((replace(bad, name="jsonl:node adapter.js", columns=(column,)),)), terminal=False)
    assert lines.split()[:2] == ["FAILED", "deque"]


# ---- known failures, campaigns, remarks ------------------------------------------------------------------------------
def test_a_known_failure_is_counted_as_such_and_not_shown_as_a_failure(bad: Tried):
    (cause, *_) = bad.causes
    entries = {}
    for found in (found for cause in bad.causes for found in cause.found):
        entry = KnownFailure(found.slug, "deque", FailureClass(found.failure_class), "T-1", "", found.scenario, None)
        entries["deque", found.signature] = entry
    known = tried_in_check("mine", [checked(BROKEN)], bad.causes, Standing(entries, (), tuple(entries.values())))
    assert known.verdict.startswith("conforms but for ")
    assert "FAILED" not in printed(Verdicts((known,))).partition("mine:")[0]
    first = {("deque", cause.shortest.signature): entries["deque", cause.shortest.signature]}
    partly = tried_in_check("mine", [checked(BROKEN)], bad.causes, Standing(first, ()))
    assert cause.shortest.signature not in {one.signature for rest in partly.new_causes for one in rest.found}
    assert (partly.verdict == "FAILED") is (len(entries) > 1)


def test_the_result_of_a_campaign():
    scenario = encode(Scenario("deque", COMPONENTS["deque"].configs[0], (("poll",),)))
    finding = FindingResult(SLUG, FailureClass.REORDERED, "poll", 3, "item 1", "item 2", 1, scenario, "0")
    part = ComponentResult(
        "deque", 10, 99, 9,
        (
            PropertyResult(SLUG, Level.MUST, Kind.ALWAYS, Verdict.FAILED, 7),
            PropertyResult("of-another-suite", Level.MUST, Kind.ALWAYS, Verdict.UNKNOWN, 0),
        ),
        (finding,),
    )  # fmt: skip
    names = ("reference", "known-bug:B-D5")
    result = CampaignResult(
        "0", make_plan("0", names, ["deque"], scenarios=10),
        (ImplementationResult("reference", "2.0", (part,)), ImplementationResult("known-bug:B-D5", "", ())),
        (DifferenceResult("known-bug:B-D5", "deque", "items", "value", 2, 5, scenario, "1"),),
        (LostBlock("deque", 1, 500, 500, "died"),),
    )  # fmt: skip
    verdicts = campaign_verdicts(result)
    text = printed(verdicts, everything=True, terminal=False)
    assert f"FAILED deque {SLUG} reference 2.0 (3 scenarios, 1 step, cause 1)" in text
    assert "unknown deque of-another-suite reference 2.0" in text
    assert "difference deque items value known-bug:B-D5 (2 scenarios, 5 steps)" in text
    assert "lost deque 500-999: died" in text
    assert "reference 2.0: FAILED. 2 properties: 1 FAILED, 1 unknown; 10 scenarios (3 FAILED); 99 steps." in text
    assert "known-bug:B-D5: not found, and it must be." in text
    assert f"{SLUG} (deque)" in printed(verdicts)


def test_campaigns_have_the_order_of_the_suite_though_a_plan_has_another_one():
    order = ["deque", "subpartition", "gate", "chain", "barrier-handler"]
    parts = [
        ComponentResult(name, 10, 99, 9, (PropertyResult("slug", Level.MUST, Kind.ALWAYS, Verdict.PASSED, 7),), ())
        for name in sorted(order)
    ]
    result = CampaignResult(
        "0", make_plan("0", ("reference", "reference-in-memory"), order, scenarios=10),
        # the first one lacks a component that stands in the middle
        (ImplementationResult("reference", "2.0", tuple(one for one in parts if one.component != "gate")),
         ImplementationResult("reference-in-memory", "", tuple(parts))),
        (), tuple(LostBlock(name, 1, 500, 500, "died") for name in sorted(order)),
    )  # fmt: skip
    assert [one.component for one in result.implementations[1].components] != order
    verdicts = campaign_verdicts(result)
    screen, pipe = printed(verdicts).splitlines(), printed(verdicts, everything=True, terminal=False).splitlines()
    assert [line.split()[0] for line in screen if line.split()[:1] and line.split()[0] in order] == order
    assert [line.split()[1] for line in pipe if line.startswith("counts ") and " reference-in-memory " in line] == order
    assert [line.split()[1] for line in pipe if line.startswith("  lost ")] == order
    page = page_of(Content(verdicts, "", {}, {("x", name): EXERCISE for name in sorted(order)}))
    assert re.findall(r"<summary>([a-z-]+)", page) == [*order, *order], "exercise by design, and all properties"


def test_a_remark_says_how_much_it_leaves_out(good: Tried):
    remark = Remark("Three things:", ("a", "b", "c"), few=1)
    assert "Three things:\n  a\n  and 2 more\n" in printed(Verdicts((good,), (remark,)))
    assert "Three things:\n  a\n  b\n  c\n" in printed(Verdicts((good,), (remark,)), everything=True)


def test_more_failures_than_scenarios_are_in_the_corpus_too():
    """A search that crashes too often ends early; the corpus was replayed before it, and is not counted."""
    assert Counts({}, 0, 0, 1, scenarios=40, failed_scenarios=50, steps=9).runs_in_words == (
        "40 scenarios and the corpus (50 FAILED)"
    )
    assert Counts({}, 0, 0, 1, 40, 40, 9).runs_in_words == "40 scenarios (40 FAILED)"
