"""Long searches of Flink: what was found is kept and counted, and a new failure is shown with its scenario."""

from __future__ import annotations

from contextlib import closing
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from building import flink_searches
from building.flink_searches import PORTION, SEARCHES, Engine, Failed, Known, Portion, Wanted, page, read, run
from building.kept_lines import write_lines
from conformance.ports import find_implementation

ENGINE = "known-bug:B-01"
FLINK = "flink-component@2.3.0"
CODES = {"gate": "now", "subpartition": "now"}
LEAK = ("after-release-nothing-is-held", "leaked", "resources")


def portion(seed: str, first: int, *failed: Failed, unexercised: tuple[str, ...] = ()) -> Portion:
    """A portion of the gate of a released Flink, in which some scenarios have failed."""
    return Portion("now", FLINK, "gate", seed, first, first + PORTION, PORTION, 7 * PORTION, failed, unexercised)


def test_each_component_is_searched_with_each_seed_before_the_next_portion() -> None:
    wanted = Wanted({"a": ("deque", "gate"), "b": ("gate",)}, ("x", "y"), PORTION + 1)
    pairs = [("a", "deque"), ("a", "gate"), ("b", "gate")]
    numbers = [(0, PORTION), (PORTION, PORTION + 1)]
    assert list(wanted.places()) == [
        (*pair, seed, *some) for some, seed, pair in product(numbers, ("x", "y"), pairs)
    ]  # fmt: skip


def searched(wanted: Wanted, folder: Path, known: Known = ()) -> list[Portion]:
    """What a run of an engine of which so much is known has searched."""
    folder.mkdir(exist_ok=True)
    with closing(find_implementation(ENGINE)) as implementation:
        return list(run(wanted, {ENGINE: Engine(implementation, ("subpartition",), known)}, CODES, folder))


def test_a_failure_that_nobody_knows_has_a_scenario_and_is_searched_once(tmp_path: Path) -> None:
    wanted = Wanted({ENGINE: ("subpartition",)}, ("x",), 12)
    (found,) = searched(wanted, tmp_path)
    assert found.scenarios == 12
    assert found.failed
    assert all('"steps"' in one.scenario for one in found.failed)
    assert "a-poll-fails-if-the-producer-has-failed" in found.unexercised
    assert searched(wanted, tmp_path) == []
    assert read(tmp_path, CODES) == [found]
    assert read(tmp_path, {**CODES, "subpartition": "other"}) == []


def test_a_search_in_a_component_depends_on_its_adapter_and_not_on_that_of_whole_jobs(monkeypatch) -> None:
    def files(change: str = "") -> SimpleNamespace:
        here = Path(flink_searches.__file__).parents[1]
        names = [one.relative_to(here).as_posix() for one in here.glob("conformance/bridges/**/*.*")]
        return SimpleNamespace(files={one: "changed" if change and change in one else "" for one in names})

    def found(change: str = "") -> dict[str, str]:
        monkeypatch.setattr(flink_searches, "code_by_names", lambda *_: files(change))
        return flink_searches.digests()

    before = found()
    assert (
        found("/known_failures/")
        == found("/java_pipeline/")
        == found("/java_job/")
        == found("/java_overlay/")
        == before
    )
    for folder in ("java", "java_shared", "java_coordinator", "java_filter_2_3", "java_graph_1"):
        assert not set(found(f"/flink/{folder}/").values()) & set(before.values()), folder


def test_what_is_known_is_not_reduced(tmp_path: Path) -> None:
    wanted = Wanted({ENGINE: ("subpartition",)}, ("x",), 12)
    (new,) = searched(wanted, tmp_path / "new")
    known = [("subpartition", one.signature) for one in new.failed]
    (found,) = searched(wanted, tmp_path / "known", known)
    assert new.failed
    assert [(one.signature, one.count) for one in found.failed] == [(one.signature, one.count) for one in new.failed]
    assert not any(one.scenario for one in found.failed)
    assert list(new.news(())) == list(new.failed)
    assert list(new.news(known)) == list(found.news(known)) == []


def test_a_line_that_was_cut_off_is_searched_again(tmp_path: Path) -> None:
    wanted = Wanted({ENGINE: ("subpartition",)}, ("x", "y"), 2)
    first, second = searched(wanted, tmp_path)
    file = tmp_path / SEARCHES
    file.write_bytes(file.read_bytes().rstrip()[:-20])
    assert read(tmp_path, CODES) == [first]
    assert searched(wanted, tmp_path) == [second]
    assert read(tmp_path, CODES) == [first, second]


def test_portions_that_follow_each_other_are_one_and_are_not_searched_again(tmp_path: Path) -> None:
    late = Failed("a", "lost", "poll", 1, 2 * PORTION + 9, "late", "{}")
    portions = [
        portion("x", 2 * PORTION, late),
        portion("x", 0, Failed(*LEAK, 3, 17), unexercised=("a", "b")),
        portion("x", PORTION, Failed(*LEAK, 2, PORTION + 4), unexercised=("b", "c")),
        portion("y", PORTION),
    ]
    write_lines(tmp_path / SEARCHES, portions)
    one, other = read(tmp_path, CODES)
    assert (one.seed, one.first, one.end, one.scenarios, one.steps) == ("x", 0, 3 * PORTION, 3 * PORTION, 21 * PORTION)
    assert one.failed == (late, Failed(*LEAK, 5, 17))
    assert one.unexercised == (), "the last portion has put all of them to the test"
    assert other == portions[-1]
    write_lines(tmp_path / SEARCHES, [one, other])
    assert read(tmp_path, CODES) == [one, other]
    wanted = Wanted({FLINK: ("gate",)}, ("x",), 3 * PORTION)
    assert list(run(wanted, {}, CODES, tmp_path)) == []
    assert "3,000 scenarios were run, with 21,000 steps.\n" in page(wanted, [one, other], {FLINK: ()}), (
        "those with the other seed are not"
    )


def test_the_page_counts_by_seed_and_says_what_is_new_and_what_is_missing() -> None:
    wanted = Wanted({FLINK: ("gate",)}, ("x", "y"), 2 * PORTION)
    text = page(wanted, [
        portion("x", 0, Failed(*LEAK, 3, 17), unexercised=("a", "b")),
        portion("y", 0, Failed(*LEAK, 2, 4), Failed("a", "lost", "poll", 1, 9, "no!", "{}"),
                unexercised=("b", "c")),
    ], {FLINK: [("gate", LEAK)]})  # fmt: skip
    assert "2,000 scenarios were run, with 14,000 steps. 2,000 are missing" in text
    assert f"| gate | {FLINK} | 2,000 | 6 | 1 | **1** | `b` |" in text
    assert f"### gate: `a` on {FLINK}\n\nClass lost, at `poll`. no!\n\n```json\n{{}}\n```" in text
    assert f"| gate | {FLINK} | `{LEAK[0]}` | leaked | 3 | 2 | 5 |" in text
    assert (
        f"| gate | {FLINK} | `data-in-front-of-a-barrier-is-written-once-in-every-channel` | duplicated | - | - | - |"
        in text
    )


def test_what_is_known_is_asked_when_the_page_is_written() -> None:
    """A failure that was recorded since is not new; one that is no longer recorded is."""
    wanted = Wanted({FLINK: ("gate",)}, ("x",), 2 * PORTION)
    found = [portion("x", 0, Failed(*LEAK, 3, 17)), portion("x", PORTION, Failed(*LEAK, 2, 40, "it leaks", "{}"))]
    assert "None." in page(wanted, found, {FLINK: [("gate", LEAK)]})
    text = page(wanted, found, {FLINK: [("deque", LEAK)]})
    assert f"| gate | {FLINK} | 2,000 | 5 | 0 | **1** | - |" in text
    assert text.count("### gate") == text.count("at `resources`. it leaks\n\n```json\n{}\n```") == 1
    assert "at `resources`.\n\nIt was known when it was found" in page(wanted, found[:1], {FLINK: ()})
    joined = found[0].joined(found[1])
    assert joined.failed == (Failed(*LEAK, 5, 17, "it leaks", "{}"),)


def test_a_page_of_nothing_says_so() -> None:
    text = page(Wanted({FLINK: ("deque",)}, ("x",), 10), [], {FLINK: ()})
    assert "0 scenarios were run, with 0 steps. 10 are missing" in text
    assert f"| deque | {FLINK} | 0 | 0 | 0 | - | - |" in text
    assert "None." in text
