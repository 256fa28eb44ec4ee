"""The record of a job that ran elsewhere is judged by the ledger of episodes. Each rule is broken by a changed line."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import cli
from conformance.episodes import lines
from conformance.episodes.judging import Verdict, judge
from conformance.episodes.recorded import COMPONENT
from conformance.scenarios import SchemaError
from tests.pages import ROOT

CLEAN = (ROOT / "examples/judge/clean.jsonl").read_text(encoding="utf-8").splitlines()
Told = list[dict[str, Any]]


def judged(told: Told | list[str]) -> Verdict:
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in told)
    return judge(lines.read_lines(io.BytesIO(text.encode()), "told.jsonl"), "told.jsonl")


def clean() -> Told:
    return [json.loads(one) for one in CLEAN]


def at(told: Told, **fields: Any) -> int:
    """Returns the place of the first line with these fields."""
    return next(place for place, one in enumerate(told) if fields.items() <= one.items())


def change(told: Told, place: int, **fields: Any) -> None:
    told[place] = {**told[place], **fields}


def drop(told: Told, **fields: Any) -> None:
    del told[at(told, **fields)]


def again(told: Told, **fields: Any) -> None:
    told.insert(at(told, line="ended"), told[at(told, **fields)])


def without_reading(told: Told) -> None:
    told[:] = [one for one in told if one["line"] not in ("row", "output")]


def lose(told: Told) -> None:
    without_reading(told)
    drop(told, record=[1, 2])


def make_up(told: Told) -> None:
    without_reading(told)
    change(told, at(told, record=[1, 3]), record="o-99")


def miscount(told: Told) -> None:
    without_reading(told)
    change(told, at(told, record=[1, 3]), count=5)


def miscount_in_the_middle(told: Told) -> None:
    without_reading(told)
    change(told, at(told, record=[1, 2]), count=1)


def rename(told: Told) -> None:
    without_reading(told)
    change(told, at(told, record=[1, 3]), key="anna")


def vanish(told: Told) -> None:
    drop(told, line="row", record="o-03")
    change(told, at(told, line="output"), rows=8)


def insert(told: Told, *more: dict[str, Any]) -> None:
    """Puts lines in front of the end of the sources."""
    place = at(told, line="ended")
    told[place:place] = more


def older(told: Told) -> None:
    drop(told, line="aborted")
    told.insert(at(told, line="completed", checkpoint=3) + 1, {"line": "completed", "checkpoint": 2})


def restore_a_savepoint(told: Told) -> None:
    insert(
        told, {"line": "triggered", "checkpoint": 6, "savepoint": True}, {"line": "completed", "checkpoint": 6},
        {"line": "restarted", "restored": 6},
    )  # fmt: skip


def fail(told: Told) -> None:
    last = at(told, restored=4)
    told[last + 1 :] = [{"line": "failed", "cause": "no state"}]


BROKEN: list[tuple[str, Callable[[Told], None], str]] = [
    ("a commit is missing", lose, "a-job-finishes-when-all-is-committed"),
    ("a commit is there twice", lambda told: again(told, record=[0, 2]), "nothing-is-committed-twice-or-made-up"),
    ("a record was not supplied", make_up, "nothing-is-committed-twice-or-made-up"),
    ("the last count is wrong", miscount, "the-state-is-the-recount"),
    ("a count is there twice", miscount_in_the_middle, "the-counts-of-a-key-are-a-run"),
    ("a key is wrong", rename, "each-row-has-the-key-of-its-record"),
    ("a committed row cannot be read", vanish, "what-was-committed-stays"),
    ("a read row has another count", lambda told: change(told, at(told, line="row", record="o-04"), count=4),
     "what-was-committed-stays"),
    ("it does not start again", fail, "a-job-starts-again-from-its-own-recovery-data"),
    ("it finishes before its sources end", lambda told: drop(told, line="ended"),
     "a-job-is-over-once-and-for-a-reason"),
    ("a checkpoint completes untriggered", lambda told: drop(told, line="triggered", checkpoint=3),
     "a-checkpoint-ends-once"),
    ("a checkpoint completes twice", lambda told: again(told, line="completed", checkpoint=5),
     "a-checkpoint-ends-once"),
    ("ids do not increase", lambda told: again(told, line="triggered", checkpoint=5), "ids-of-checkpoints-increase"),
    ("its checkpoint never completes", lambda told: drop(told, line="completed", checkpoint=5),
     "only-a-completed-checkpoint-is-committed"),
    ("a savepoint commits", lambda told: change(told, at(told, line="triggered", checkpoint=4), stops=False,
                                               savepoint=True), "a-savepoint-commits-nothing"),
    ("a failover goes back to the beginning", lambda told: change(told, at(told, line="restarted"), restored=0),
     "a-failover-restores-the-newest-checkpoint"),
    ("a split goes back", lambda told: change(told, at(told, line="completed", checkpoint=3), positions=[1, 2]),
     "offsets-never-go-back"),
    ("a source reads on too far", lambda told: change(told, at(told, restored=4), positions=[5, 3]),
     "a-source-reads-on-where-its-checkpoint-says"),
    ("a checkpoint is ahead of its source", lambda told: change(told, at(told, line="completed", checkpoint=3),
                                                                positions=[3, 9]),
     "a-checkpoint-is-not-ahead-of-its-source"),
    ("a row is not in front of its checkpoint", lambda told: change(told, at(told, line="completed", checkpoint=1),
                                                                    positions=[0, 0]),
     "what-a-checkpoint-commits-is-in-front-of-it"),
    ("an older checkpoint completes", older, "no-older-checkpoint-completes-later"),
    ("a failover restores a savepoint", restore_a_savepoint, "no-failover-restores-a-savepoint"),
]  # fmt: skip


def kinds(told: Told) -> list[str]:
    return list(judged(told).violations)


@pytest.mark.parametrize(("mutate", "slug"), [one[1:] for one in BROKEN], ids=[one[0] for one in BROKEN])
def test_a_changed_line_breaks_its_rule(mutate: Callable[[Told], None], slug: str) -> None:
    told = clean()
    mutate(told)
    assert slug in kinds(told)


@pytest.mark.parametrize(
    ("record", "named"),
    [([1, 2], "record [1, 2]"), ("o-02", 'record "o-02"'), ("o-99", 'record "o-99", an id that was not supplied')],
)
def test_a_record_is_named_as_its_file_does(record: list[int] | str, named: str) -> None:
    told: Told = [
        {"line": "header", "version": 1, "splits": 2, "promises": {"output": "exactly-once"}}, {"line": "started"},
        *({"line": "supplied", "split": 0, "position": at, "key": "anna", "id": f"o-0{at}"} for at in range(3)),
        *({"line": "supplied", "split": 1, "position": at, "key": "anna"} for at in range(3)),
        *[{"line": "committed", "record": record, "key": "anna", "count": 1}] * 2,
        {"line": "failed", "cause": "record 2 cannot be read"},
    ]  # fmt: skip
    said = [str(one.broken) for one in judged(told).noted]
    assert any(named in one for one in said), said


def test_two_ids_that_were_not_supplied_are_two_records() -> None:
    told: Told = [
        {"line": "header", "version": 1, "splits": 1}, {"line": "started"},
        *({"line": "committed", "record": one, "key": "anna", "count": 1} for one in ("o-98", 99, "o-98")),
    ]  # fmt: skip
    said = [str(one.broken) for one in judged([*told, {"line": "killed"}]).noted]
    assert ["twice" in one for one in said] == [False, False, True]
    assert ['"o-98", an id' in said[0], "record 99, an id" in said[1]] == [True, True]


def test_what_an_engine_says_of_its_end_stays_as_it_is() -> None:
    told = clean()
    fail(told)
    change(told, -1, cause="record 2 cannot be read")
    assert "it ended: record 2 cannot be read" in str(judged(told).noted[-1].broken)


def test_the_clean_file_conforms_and_puts_the_rules_to_the_test() -> None:
    found = judged(CLEAN)
    assert not found.violations
    assert (found.lives, found.restores, found.finished) == (3, 3, True)
    assert set(found.not_exercised) == {"a-record-comes-again-only-from-a-later-life", "a-replayed-batch-is-the-same"}


ROWS = [{"line": "committed", "record": [0, at], "key": "anna", "count": at + 1} for at in range(3)]


def replays(output: str, first: Told, second: Told) -> Told:
    """Returns a job with three records that writes some rows in its first life, and some in its second."""
    return [
        {"line": "header", "version": 1, "splits": 1, "promises": {"output": output}}, {"line": "started"},
        *({"line": "supplied", "split": 0, "position": at, "key": "anna"} for at in range(3)), *first,
        {"line": "killed"}, {"line": "started", "restored": True}, *second, {"line": "ended"}, {"line": "finished"},
    ]  # fmt: skip


def batch(number: int, *rows: dict[str, Any]) -> Told:
    return [{**one, "batch": number} for one in rows]


def test_a_replayed_batch_is_the_same() -> None:
    first, last = batch(1, *ROWS[:2]), batch(2, ROWS[2])
    assert not kinds(replays("once-per-batch", first, first + last))
    assert "a-replayed-batch-is-the-same" in kinds(replays("once-per-batch", first, batch(1, ROWS[0]) + last))
    assert "a-replayed-batch-is-the-same" in judged(replays("once-per-batch", first, first + last)).exercised


def test_a_record_is_in_one_batch_and_there_once() -> None:
    first, last = batch(1, *ROWS[:2]), batch(2, ROWS[2])
    for one, other in (([*first, first[0]], last), (first, batch(2, *ROWS))):
        assert "nothing-is-committed-twice-or-made-up" in kinds(replays("once-per-batch", one, other))


def test_a_record_comes_again_only_from_a_later_life() -> None:
    assert not kinds(replays("at-least-once", ROWS[:2], ROWS))
    assert kinds(replays("at-least-once", [*ROWS[:2], ROWS[1]], ROWS)) == [
        "a-record-comes-again-only-from-a-later-life"
    ]


def reading(*rows: dict[str, Any]) -> Told:
    return [*({**one, "line": "row"} for one in rows), {"line": "output", "rows": len(rows)}]


def test_a_batch_that_is_written_again_is_read_once() -> None:
    first, last = batch(1, *ROWS[:2]), batch(2, ROWS[2])
    told = replays("once-per-batch", first, first + last + reading(*first, *last))
    assert not kinds(told)
    told = replays("once-per-batch", first, first + last + reading(first[0], *last))
    assert "what-was-committed-stays" in kinds(told)


def test_a_reading_does_not_say_which_life_has_written_a_row() -> None:
    assert not kinds(replays("at-least-once", [], reading(*ROWS[:2], *ROWS)))
    found = judged(replays("at-least-once", [], reading(*ROWS[:2], *ROWS[:2], *ROWS)))
    assert found.violations == {"a-record-comes-again-only-from-a-later-life": 2}
    first = reading(*ROWS[:2])
    found = judged(replays("at-least-once", first, reading(*ROWS[:2], *ROWS[:2], *ROWS[:2], ROWS[2])))
    assert not found.violations, "each life has written them, the first one after it was read, too"
    found = judged(replays("at-least-once", reading(*ROWS[:2], *ROWS[:2]), ROWS))
    assert found.violations == {"a-record-comes-again-only-from-a-later-life": 2}


def without_numbers(told: Told) -> Told:
    """Returns the lines with recovery data that have no number."""
    return [{"line": one["line"], "restored": True} if one.get("restored") else one for one in told]


def test_recovery_data_without_a_number_are_the_newest() -> None:
    """As with numbers, what a checkpoint has committed that completed in an earlier life is not accused."""
    told = without_numbers(clean())
    assert sum(one.get("restored") is True for one in told) == 3
    found = judged(told)
    assert not found.violations
    assert found.restores == 3
    checkpoint = [{"line": "triggered", "checkpoint": 3}, {"line": "completed", "checkpoint": 3}]
    late = [{**ROWS[0], "checkpoint": 3}, *ROWS[1:]]
    assert not kinds(replays("exactly-once", checkpoint, late))
    again = [*checkpoint, {"line": "restarted", "restored": 3}]
    assert not kinds(replays("exactly-once", checkpoint, [again[-1], *late]))
    assert kinds(replays("exactly-once", checkpoint, [{"line": "restarted", "restored": 0}, *late])) == [
        "a-failover-restores-the-newest-checkpoint"
    ]


def test_a_job_that_looks_itself_what_is_there_must_find_the_newest_checkpoint() -> None:
    def begun_again(checkpoint: int | bool, *rows: dict[str, Any]) -> Told:
        done = [{"line": "triggered", "checkpoint": 1}, {"line": "completed", "checkpoint": 1, "positions": [2]}]
        told = replays("exactly-once", [*done, *({**one, "checkpoint": 1} for one in ROWS[:2])], [*rows])
        told[told.index({"line": "started", "restored": True})] = {"line": "restarted", "restored": checkpoint}
        return told

    for newest in (1, True):
        found = judged(begun_again(newest, ROWS[2]))
        assert not found.violations
        assert (found.lives, found.restores, found.finished) == (2, 1, True)
    found = judged(begun_again(0, *ROWS))
    assert [one.slug for one in found.noted] == [
        "a-failover-restores-the-newest-checkpoint", *["nothing-is-committed-twice-or-made-up"] * 2,
        "the-counts-of-a-key-are-a-run",
    ]  # fmt: skip
    with pytest.raises(SchemaError, match=r"If the engine has chosen .* right would be \{.line.: .restarted."):
        judged([{**one, "line": "started"} if one["line"] == "restarted" else one for one in begun_again(0)])


def test_a_checkpoint_that_was_stopped_with_is_named_by_whoever_starts_the_job() -> None:
    stop = [{"line": "triggered", "checkpoint": 1, "stops": True}, {"line": "completed", "checkpoint": 1}]
    told = replays("exactly-once", stop, ROWS)
    told[told.index({"line": "started", "restored": True})] = {"line": "restarted", "restored": 1}
    with pytest.raises(SchemaError, match="no life runs; a life begins with"):
        judged(told)


def test_at_least_once_a_checkpoint_may_commit_what_is_behind_it() -> None:
    done = [{"line": "triggered", "checkpoint": 1}, {"line": "completed", "checkpoint": 1, "positions": [2]}]
    for output, wrong in (("exactly-once", True), ("at-least-once", False)):
        told = replays(output, [*done, *({**one, "checkpoint": 1} for one in ROWS)], [])
        assert ("what-a-checkpoint-commits-is-in-front-of-it" in kinds(told)) is wrong


def test_a_checkpoint_completes_only_in_a_file_that_says_of_triggers() -> None:
    told = [one for one in clean() if one["line"] != "triggered"]
    with pytest.raises(SchemaError, match=r"line 8, field checkpoint: .* right would be \{.line.: .triggered."):
        judged(told)


@pytest.mark.parametrize("end", ["nothing", "not JSON", "a line of another kind"])
def test_what_was_wrong_before_a_line_that_cannot_be_read_is_said(end: str, tmp_path: Path) -> None:
    text = (ROOT / "examples/judge/doubled.jsonl").read_text(encoding="utf-8").splitlines()[:-1]
    text += {"nothing": [], "not JSON": ["{"], "a line of another kind": ['{"line": "header"}']}[end]
    file = tmp_path / "told.jsonl"
    file.write_text("\n".join(text), encoding="utf-8")
    found = CliRunner().invoke(cli, ["judge", str(file)])
    assert "nothing-is-committed-twice-or-made-up" in found.stdout
    assert isinstance(found.exception, SchemaError)  # of which the command makes status 2
    assert str(file) in str(found.exception)


def test_a_compressed_file_is_named_so(tmp_path: Path) -> None:
    file = tmp_path / "told.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(CLEAN).encode()))
    found = CliRunner().invoke(cli, ["judge", str(file)])
    assert isinstance(found.exception, SchemaError)
    assert "it is compressed; `gzip -dc" in str(found.exception)


def test_the_output_is_read_before_or_after_the_end() -> None:
    told = replays("exactly-once", [], [])
    assert not kinds([*told, *reading(*ROWS)])
    assert kinds([*told, *reading(*ROWS[:2])])[0] == "a-job-finishes-when-all-is-committed"
    assert kinds(told)[0] == "a-job-finishes-when-all-is-committed"
    found = judged(told)
    assert found.noted[0].line == len(told), "the line finished"


def test_a_job_that_was_stopped_has_not_read_everything() -> None:
    stop = [{"line": "triggered", "checkpoint": 1, "stops": True}, {"line": "completed", "checkpoint": 1}]
    for end in ("killed", "finished"):
        told = replays("exactly-once", stop, ROWS)
        told[told.index({"line": "killed"})] = {"line": end}
        found = judged(told)
        assert not found.violations
        assert (found.lives, found.finished) == (2, True)
    with pytest.raises(SchemaError, match='the header promises "continues"'):
        judged([*replays("exactly-once", [], ROWS), {"line": "started"}])


def test_what_was_supplied_behind_the_end_was_not_read() -> None:
    told = replays("exactly-once", [], ROWS)
    told[0]["promises"]["continues"] = True
    more = {"line": "supplied", "split": 0, "position": 3, "key": "anna"}
    assert judged(told).finished
    assert not judged([*told, more]).finished
    ends = [{"line": "ended"}, {"line": "finished"}]
    row = {"line": "committed", "record": [0, 3], "key": "anna", "count": 4}
    found = judged([*told, more, {"line": "started", "restored": True}, row, *ends])
    assert not found.violations
    assert found.finished
    assert kinds([*told, more, {"line": "started", "restored": True}, *ends])[0] == (
        "a-job-finishes-when-all-is-committed"
    )


def test_every_rule_is_broken_by_a_test() -> None:
    above = {"a-replayed-batch-is-the-same", "a-record-comes-again-only-from-a-later-life"}
    slugs = {one.slug for one in COMPONENT.properties[1:]}
    assert slugs == {one[2] for one in BROKEN} | above


def test_a_reading_alone_is_judged_as_what_was_committed() -> None:
    told = [one for one in clean() if one["line"] != "committed"]
    assert not kinds(told)
    drop(told, line="row", record="o-03")
    change(told, at(told, line="output"), rows=8)
    assert "a-job-finishes-when-all-is-committed" in kinds(told)


def test_the_order_in_which_rows_are_read_does_not_matter() -> None:
    told = clean()
    first, last = at(told, line="row"), at(told, line="output")
    told[first:last] = reversed(told[first:last])
    assert not kinds(told)


WRONG: list[tuple[Callable[[Told], object], str]] = [
    (lambda told: told.pop(0), "line 1: the first line is the header; right would be"),
    (lambda told: told.insert(3, told[0]), "line 4: the header is the first line"),
    (lambda told: change(told, 0, version=2), "line 1, field version: it is 1, the version that is read here"),
    (lambda told: told[0]["promises"].update(output="exactly"),
     "line 1, field promises.output: it is exactly-once, once-per-batch, at-least-once; right would be "),
    (lambda told: told.pop(1), "line 7: no life runs"),
    (lambda told: change(told, 2, position=4), "line 3, field position: split 0 has 0 records so far, so this is 0"),
    (lambda told: change(told, 2, split=7), "line 3, field split: the header has 2 splits, from 0"),
    (lambda told: change(told, 3, id="o-00"), "line 4, field id: 'o-00' is the id of another record"),
    (lambda told: change(told, 2, colour="red"), "line 3: Object contains unknown field `colour`"),
    (lambda told: change(told, 2, key=1.5), "line 3, field key: Expected `int | str`, got `float`"),
    (lambda told: change(told, 2, line="suplied"), "line 3, field line: it says what has happened, and is one of "),
    (lambda told: change(told, 8, positions=[1]), "line 9, field positions: there are 2 splits"),
    (lambda told: change(told, 9, batch=1), "line 10, field batch: rows have no batch"),
    (lambda told: drop(told, line="killed"), "line 15: life 0 must say how it has ended"),
    (lambda told: change(told, at(told, restored=4), restored=1), "line 29, field restored: checkpoint 3 has"),
    (lambda told: change(told, at(told, restored=4), restored=9), "field restored: checkpoint 9 has not completed"),
    (lambda told: change(told, at(told, line="output"), rows=8), "field rows: there are 9 lines row before it"),
    (lambda told: drop(told, line="output"), "a line output says how many rows were read"),
    (lambda told: told.pop(), "line 46: the file ends, and life 2 must say how it has ended"),
    (lambda told: told.append({"line": "started"}), "the job has finished; if it can be started again"),
    (lambda told: told.insert(-1, {"line": "supplied", "split": 1, "position": 4, "key": "anna"}),
     "no record comes after the line ended"),
]  # fmt: skip


@pytest.mark.parametrize(("mutate", "says"), WRONG, ids=[one[1] for one in WRONG])
def test_what_cannot_be_read_is_said_with_line_and_field(mutate: Callable[[Told], object], says: str) -> None:
    told = clean()
    mutate(told)
    with pytest.raises(SchemaError) as raised:
        judged(told)
    assert says in str(raised.value)
    assert str(raised.value).startswith("told.jsonl, line ")


def test_a_file_that_was_cut_off_is_no_json() -> None:
    with pytest.raises(SchemaError, match=r"^told.jsonl, line 3: this is not a line of JSON"):
        judged([*CLEAN[:2], CLEAN[2][:20]])


def test_lines_are_read_only_when_they_are_judged() -> None:
    """So what it takes is bounded by the ledger, however long the file is."""
    told = [*CLEAN[:3], CLEAN[0]]
    read = lines.read_lines(io.BytesIO("\n".join(told).encode()), "told.jsonl")

    def one_by_one() -> Any:
        yield from islice(read, len(told))
        raise AssertionError("a line was read before the one in front of it was judged")

    with pytest.raises(SchemaError, match="line 4: the header is the first line"):
        judge(one_by_one(), "told.jsonl")


def test_the_page_shows_each_kind_of_line_and_only_right_ones() -> None:
    page = (ROOT / "docs/judge.md").read_text(encoding="utf-8")
    shown = [json.loads(one) for one in re.findall(r"^\{.*\}$", page, re.MULTILINE)]
    text = "\n".join(json.dumps(one) for one in shown) + "\n" + "\n".join(lines.EXAMPLES.values())
    assert len(list(lines.read_lines(io.BytesIO(text.encode()), "page"))) == len(shown) + len(lines.EXAMPLES)
    assert {one["line"] for one in shown} == set(lines.EXAMPLES)


@pytest.mark.parametrize(("told", "status", "says"), [
    (CLEAN, 0, "CONFORMS"),
    ([*CLEAN[:31], *CLEAN[32:]], 1, "FAILED"),
    (CLEAN[:13], 3, "NOT EXERCISED: the job was never restored"),
    (CLEAN[:28], 3, "NOT EXERCISED: the last life has not finished"),
    (CLEAN[:9], 2, "standard input, line 9: the file ends"),
])  # fmt: skip
def test_the_command_reads_the_standard_input_and_has_a_status(told: list[str], status: int, says: str) -> None:
    found = CliRunner().invoke(cli, ["judge", "-"], input="\n".join(told), standalone_mode=False)
    said = str(found.exception) if found.exception else found.stdout
    assert says in said
    assert (2 if found.exception else found.return_value) == status


def test_the_first_violation_names_its_line() -> None:
    told = (ROOT / "examples/judge/doubled.jsonl").read_text(encoding="utf-8").splitlines()
    first = judged(told).noted[0]
    assert (first.slug, first.line) == ("nothing-is-committed-twice-or-made-up", 30)
    assert told[29] in told[:29]
