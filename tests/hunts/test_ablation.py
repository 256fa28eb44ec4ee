"""The measurement of what each part of a search is good for."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.interruption import NEVER
from conformance.engines.position import unfollowed
from conformance.engines.search import EVEN, PARTS, USUAL, Search, numbered_seeds
from conformance.engines.works import alone
from conformance.ports import find_implementation, find_known_bug
from tests.hunts.ablation import (
    ALL,
    LEAST,
    MIXTURE,
    OF,
    PORTFOLIO,
    SEEDS,
    WHOLE,
    Ablated,
    Ablating,
    Alike,
    Part,
    Took,
    Tried,
    ablate,
    between,
    compare,
    hard,
    mixture,
    prefix_groups,
    report,
    works,
)


def program(component):
    return Program(COMPONENTS[component], find_implementation("reference"))


def test_a_part_changes_the_scenarios_in_which_it_was_drawn_and_no_others():
    ready = program("local-channel")
    ways, alike = mixture(ready), Alike()
    (prefix, group) = next(iter(prefix_groups(ready.component).items()))
    without = {
        part: [
            number
            for number, text in numbered_seeds("t", "local-channel", range(60))
            if not alike(ways[WHOLE].drawn(number, text), ways[part].drawn(number, text))
        ]
        for part in (Part("prefixes", prefix), Part("prefixes", ALL), Part("manners of the mixture", "even"))
    }
    one, every, even = without.values()
    assert set(one) < set(every)
    assert every
    assert not set(every) & set(even), "a scenario in the even manner has no prefix"
    drawn = [Search(ready).course(text)[0].prefix for _, text in numbered_seeds("t", "local-channel", range(60))]
    assert one == [number for number, its in enumerate(drawn) if its in group]
    same = next(number for number in range(60) if number not in every)
    runs = [ways[part].run(same, f"t/local-channel/{same}").performed for part in (WHOLE, Part("prefixes", ALL))]
    assert runs[0] == runs[1]


def test_only_parts_of_the_shapes_that_are_searched_are_switched_off():
    ready = program("gate")
    names = {shape: {str(part) for part in mixture(ready.pinned(shape))} for shape in ("one gate", "")}
    assert "prefixes: CANCELLED_IN_A_POLL" in names["one gate"] & names[""]
    assert names[""] - names["one gate"]
    assert not any("several gates" in name for name in names["one gate"])


def test_every_prefix_is_in_one_group():
    for component in COMPONENTS.values():
        groups = list(prefix_groups(component).values())
        every = {one for shape in component.searched for one in shape.prefixes}
        assert sum(map(len, groups)) == len(every)
        assert frozenset().union(*groups) == every
    assert {"CHAINS", "URGENT"} <= set(prefix_groups(COMPONENTS["pipeline"]))


def test_a_mixture_without_a_manner_has_the_others_in_proportion():
    mix = USUAL._replace(without="declared")
    (start, end) = PARTS["declared"]
    assert [mix.manner(number) for number in (0.0, 0.3, end, 0.99)] == [0.0, 0.3, end, 0.99]
    others = [mix.manner(start + (end - start) * at / 1000) for at in range(1000)]
    assert not any(start <= number < end for number in others)
    assert sum(number < EVEN for number in others) / 1000 == pytest.approx(EVEN / (1 - (end - start)), abs=0.002)
    assert all(USUAL.manner(at / 100) == at / 100 for at in range(100))


@pytest.mark.parametrize(("of", "name"), [(MIXTURE, "B-L6"), (PORTFOLIO, "B-D3")])
def test_a_search_for_a_bug_without_each_part(of, name):
    """Each number is that of a search that knows nothing of the others."""
    bug = find_known_bug(name)
    found = Ablating(bug.id, of, "ablation.0", 25).do(NEVER, unfollowed)
    assert found.whole.found
    ready = Program(COMPONENTS[bug.component], bug.build())
    for part, way in list(OF[of](ready).items())[::6]:
        took, itself = found.whole if part == WHOLE else found.without[str(part)], Took()
        for number, text in numbered_seeds("ablation.0", bug.component, range(took.scenarios)):
            run = way.run(number, text)
            itself.scenarios, itself.steps = number + 1, itself.steps + len(run.performed) + run.closing_steps
            itself.found = run.violation is not None and run.violation.property.slug == bug.property
        assert (itself.scenarios, itself.steps, itself.found) == (took.scenarios, took.steps, took.found)


def test_bugs_that_need_more_than_a_few_scenarios_are_tried_in_an_order_that_says_nothing():
    bugs = hard(["deque", "persister"])
    assert 1 <= len(bugs) < 12
    assert [bug.id for bug in bugs] != sorted(bug.id for bug in bugs)
    asked = works(bugs, [MIXTURE], ["deque"], 7)
    assert [one.bug for one in asked[: len(bugs)]] == [bug.id for bug in bugs]
    assert len(asked) == SEEDS * len(bugs) + 15 * sum(bug.component == "deque" for bug in bugs)
    assert len({one.seed for one in asked}) == 20
    few = [Ablating("B-D1", MIXTURE, "t", 3), Ablating("B-D2", MIXTURE, "t", 3)]
    assert [one.bug for one in ablate(few, alone)] == ["B-D1", "B-D2"]
    assert [one.bug for one in ablate(few, lambda asked: iter([None, *alone(asked[1:])]))] == ["B-D2"]


def test_a_part_pays_if_more_is_needed_without_it_whatever_bugs_are_drawn():
    whole, later, lost = Took(10, 900, 0, True), Took(20, 2000, 3, True), Took(100, 9000, 5, False)
    some = [("a", whole, later), ("b", whole, lost), ("b", whole, lost), ("c", whole, later)]
    found = compare(some)
    assert (found.bugs, found.tries, found.later, found.earlier) == (3, 4, 4, 0)
    assert (found.only_with, found.only_without, found.verdict) == (2, 0, "")
    assert compare([(f"{bug} {at}", one, other) for bug, one, other in some for at in range(9)]).verdict == "pays"
    assert found.scenarios == pytest.approx((2 * 5 * 2) ** (1 / 3))
    assert 2 <= found.low < found.scenarios < found.high <= 5.001
    assert compare([(f"{bug} {at}", other, one) for bug, one, other in some for at in range(9)]).verdict == "costs"
    assert compare([(f"{at}", whole, whole) for at in range(20)]).verdict == ""
    assert compare([("a", whole, later)] * 30).verdict == "", "one bug says nothing about others"
    assert between([1.0, 2.0, 3.0] * 20) == between([1.0, 2.0, 3.0] * 20)


def test_the_page_says_how_many_were_tried():
    one, two = Took(12, 900, 0, True), Took(40, 4000, 3, True)
    tried = [
        Tried(
            room,
            bug,
            "t",
            MIXTURE,
            Ablated(one, {"lengths: some": two, f"habits: {room}": one, "prefixes: number 1": one}),
        )
        for room, bug in (("gate", "B-45"), ("gate", "B-46"), ("chain", "B-C1"))
    ]
    text = report(tried, {"gate": 5, "chain": 4}, 1000)
    assert "3 tries of 3 bugs, each a bug and a seed. 6 more were not tried" in text
    assert f"later scenario than the {LEAST}th" in text
    everywhere, gate, chain = (part.split("## ")[0] for part in text.split("## ")[1:])
    assert "| lengths: some | 3 | 3 |" in everywhere
    assert "habits" not in everywhere, "only what several components have"
    assert "prefixes" not in everywhere, "the first one of each component is another one"
    assert "| habits: gate | 2 | 2 | 0.0% | 1.00 | 1.00 to 1.00 | 1.00 | 0 | 0 | 0 | 0 |" in " ".join(gate.split())
    assert "2 of 5 tries. The search with all parts needs 12 scenarios (median)." in gate
    assert "habits: chain" in chain
    assert "habits: gate" not in chain
    assert "prefixes: number 1" in chain
