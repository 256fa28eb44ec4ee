"""campaign status --watch: each change while a campaign is run, on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from conformance import cli
from conformance.campaigns import Inline, Status, make_plan, start, watch
from conformance.reporting import status_lines, watch_status
from conformance.reporting.console import CarefulConsole

PLAN = make_plan("watch", ["reference", "known-bug:B-01"], ["deque", "subpartition"], scenarios=60, block=10, budget=20)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A folder, and the states that somebody saw who watched it."""
    folder = tmp_path_factory.mktemp("watched") / "campaign"
    states: list[Status] = []
    waits = []
    watching = watch(folder, wait=lambda: waits.append(1))

    def look(state):
        if state.committed > (states[-1].blocks if states else 0):
            states.append(next(watching))

    start(folder, PLAN, Inline(), look)
    return folder, [*states, *watching], len(waits)


def test_each_change_is_seen_until_nobody_runs_the_campaign(seen):
    folder, states, waits = seen
    assert [one.blocks for one in states] == [8, 12, 12]
    assert [one.held_by is None for one in states] == [False, False, True]
    assert [one.finished for one in states] == [False, False, True]
    assert waits == 2
    assert list(watch(folder, wait=lambda: pytest.fail("nobody runs it"))) == states[-1:]


def shown(states, folder, **options):
    file = io.StringIO()
    assert watch_status(CarefulConsole(file=file, **options), iter(states), folder) == states[-1]
    return file.getvalue()


def test_in_a_pipe_each_wave_is_a_line_and_each_failure_when_it_is_new(seen):
    folder, states, _ = seen
    lines = shown(states, folder, width=80).splitlines()
    assert lines[0].startswith("8 of 12 blocks are committed: ")
    new = [one for one in lines if one.startswith("new: known-bug:B-01 subpartition: ")]
    assert len(new) == len(states[-1].found) > 0
    assert sum(" blocks are committed" in one for one in lines) == 2
    assert lines[-1].startswith("The campaign has ended. ")
    assert "\x1b" not in "".join(lines)


def test_a_terminal_has_the_newest_state_only(seen):
    folder, states, _ = seen
    folder = folder.with_name("a\x1b[31mb")
    text = shown(states, folder, width=80, force_terminal=True, legacy_windows=False)
    assert "\x1b[31m" not in text
    final = text[text.rindex("12 of 12") :]
    assert "The campaign has ended." in final
    assert "being run by" not in final
    assert "\x1b[2K" in text, "what was there is removed"


def test_twenty_failures_are_shown_and_those_of_known_bugs_last(seen):
    folder, states, _ = seen
    bug = next(one for one in states[-1].found if one.implementation == "known-bug:B-01")
    other = replace(bug, implementation="reference")
    many = replace(states[-1], found=(*[bug] * 25, other))
    lines = status_lines(many, folder)
    assert lines[1].startswith("reference subpartition: ")
    assert sum(one.startswith("known-bug:B-01 subpartition: ") for one in lines) == 19
    assert "6 more failures, 6 of known bugs." in lines
    assert status_lines(replace(many, found=(other,)), folder)[1:-1] == lines[1:2]


def test_the_command_ends_with_a_campaign_that_nobody_runs(seen, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["campaign", "status", str(seen[0]), "--watch"])
    assert ended.value.code == 0
    assert "The campaign has ended." in capsys.readouterr().out
