"""What an implementation writes is shown up to a limit, and is read to its end."""

from __future__ import annotations

import pytest

from conformance.engines.relay import FIRST, LAST, Relay
from tests.test_guarding import conformance

FLUSHES = ("--component", "subpartition", "--scenarios", "4", "--implementation", "tests.engines.hostile:")


def test_what_is_short_is_shown_as_it_comes(capsys):
    relay = Relay("mine")
    relay.show(b"one\ntw")
    assert capsys.readouterr().err == "| one\n| tw"
    relay.show(b"o\n")
    relay.finish()
    assert capsys.readouterr().err == "o\n"


def test_the_first_and_the_last_bytes_are_shown_and_the_others_are_counted(capsys):
    relay = Relay("mi\nne")
    relay.show(b"a" * (FIRST - 1))
    relay.show(b"bc")
    relay.show(b"d" * 5 * LAST)
    relay.show(b"e" * LAST)
    said = capsys.readouterr().err
    assert said.startswith(f"| {'a' * (FIRST - 1)}b\nmi\\nne has written 64 KiB")
    assert said.count("\n") == 2
    relay.finish()
    omitted = 1 + 5 * LAST
    assert capsys.readouterr().err == (
        f"mi\\nne: {omitted:,} bytes of what it has written are left out, and the last 8,192 are:\n| {'e' * LAST}\n"
    )
    relay.finish()
    assert capsys.readouterr().err == ""


def test_nothing_of_the_exact_limit_is_left_out(capsys):
    relay = Relay("mine")
    relay.show(b"a" * FIRST)
    relay.finish()
    assert capsys.readouterr().err == "| " + "a" * FIRST + "\n", "a line of the suite may follow"


@pytest.mark.slow  # a check and a campaign in processes that flood
def test_a_flood_does_not_reach_the_log_of_a_check_nor_of_a_campaign(tmp_path):
    """An operation that wrote 64 MiB made a log of 5.7 GB in 100 s."""
    most = 3 * FIRST
    done = conformance("check", *FLUSHES[:-1], f"{FLUSHES[-1]}floods_a_little")
    assert done.returncode in (0, 3), done.stderr[-1_000:]
    assert FIRST < len(done.stderr) < most
    assert "bytes of what it has written are left out" in done.stderr
    assert len(done.stdout) < FIRST
    campaign = ("campaign", "start", str(tmp_path / "c"), "--runner", "inline")
    done = conformance(*campaign, *FLUSHES[:-1], f"{FLUSHES[-1]}floods_a_little")
    assert done.returncode in (0, 3), done.stderr[-1_000:]
    assert FIRST < len(done.stderr) < most
