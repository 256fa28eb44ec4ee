"""Whatever a program does, the suite says what it was, ends it, and can go on."""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import sys

import pytest

from conformance.bridges.jsonl import Client
from conformance.bridges.jsonl.protocol import (
    Call,
    OneOutcome,
    Open,
    Opened,
    Refused,
    Reply,
    StrictOutcome,
    decode_reply,
    encode,
)
from conformance.ports import ErrorKind, PortError, UnusableImplementation

POLL = Call(("poll",))
SHORT = 0.3


def process_of(client: Client) -> subprocess.Popen[bytes]:
    assert client._child is not None
    return client._child._process


def pid_of(client: Client) -> int:
    assert client._child is not None
    return client._child._started.pid


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def failing(command: list[str], seconds: float = 20.0) -> tuple[Client, PortError]:
    """What comes of one call. The process is gone afterwards, and a new one takes its place."""
    client = Client(command, timeout_seconds=seconds)
    assert client.request(Open("deque", {})) == Opened()
    pid = pid_of(client)
    with pytest.raises(PortError) as caught:
        client.request(POLL)
    assert not is_running(pid)
    with pytest.raises(PortError, match="the program is gone: it "):
        client.request(POLL)
    assert client.request(Open("deque", {})) == Opened()
    assert pid_of(client) != pid
    client.close()
    return client, caught.value


@pytest.mark.parametrize(
    ("on_call", "said"),
    [
        ("sys.exit(3)", r"the program exited with status 3$"),
        ("print('disk full', file=sys.stderr); sys.exit(1)", r"status 1; its log ends with:\n  disk full$"),
        ("os.kill(os.getpid(), signal.SIGTERM)", r"the program was ended by SIGTERM$"),
        ("print('{', end=''); sys.exit(3)", r"exited with status 3; it wrote '\{' and no end of the line$"),
        ("print('hello, world'); outcome()", r"answered the call 'poll' with 'hello, world': JSON is malformed"),
        ("print(json.dumps({'type': 'outcome'}, indent=1))", r" with '\{': Input data was truncated; .* each on one"),
        ("say(type='outcome')", r"missing required field `outcome`$"),
        ("say(type='outcome', outcome={'error': {'kind': 'sad'}})", r"value 'sad' - at .*kind`; `conformance docs "),
        ("say(type='outcome', outcome={}, extra=1)", r"unknown field `extra`; `conformance docs "),
        ("outcome(vaule=3)", r"unknown field `vaule`"),
        (r"outcome(error={'kind': 'io', 'reason': 'a\ud83d b'})", r": a text has half of a character, a surrogate"),
        (r"outcome(error={'kind': 'io', 'reason': 'a\udc00b'})", r": a text has half of a character, a surrogate"),
        (r"outcome(vaule='\\ud83d \ud83d\ude00')", r"unknown field `vaule`"),
        ("outcome(signals=[{'type': 'data-available', 'extra': 1}])", r"`extra` - at `\$.outcome.signals\[0\]`; `"),
        ("outcome(error={'kind': 'checkpoint', 'checkpoint_raeson': 'expired'})", r"`checkpoint_raeson` - at .*error`"),
        ("outcome(value=3, error={'kind': 'io'})", r"one of them at most - at `\$\.outcome`$"),
        ("outcome(value=3, blocked=7)", r"one of them at most - at `\$\.outcome`$"),
        ("say(type='shrug')", r"Invalid value 'shrug'"),
        ("say(type='opened')", r"not an answer to that request, but perhaps a second one to the request before$"),
        ("say(type='x' * 9000)", r"with '\{.type.: .xxx[^\n]*… \(\d+ bytes\): "),
        ("print('x' * (5 << 20))", r"wrote a line longer than 4 MiB: '"),
    ],
)  # fmt: skip
def test_a_program_that_breaks_the_protocol_has_crashed(program, on_call, said):
    _, error = failing(program(on_call))
    assert error.kind is ErrorKind.CRASHED
    assert re.search(said, error.reason), error.reason
    assert len(error.reason) < 600


def test_what_an_exit_status_means_is_said(program):
    client = Client(program("os._exit(239)"), exit_statuses={239: "its fatal error handler"})
    client.request(Open("deque", {}))
    with pytest.raises(PortError, match=r"exited with status 239 \(its fatal error handler\)"):
        client.request(POLL)


@pytest.mark.parametrize(
    ("on_call", "said"),
    [
        ("pass", ""),
        ("print('{}', end='', flush=True)", "; it wrote '{}' and no end of the line"),
        ("signal.pause()", ""),
    ],
    ids=["says nothing", "ends no line", "stops reading"],
)
def test_a_program_that_does_not_answer_hung(program, on_call, said):
    _, error = failing(program(on_call), SHORT)
    assert error.kind is ErrorKind.HUNG
    assert error.reason == f"the program gave no answer to the call 'poll' within 0.3 s{said}"


def test_a_program_that_only_logs_hung(program):
    _, error = failing(program("while True: print('busy', file=sys.stderr)"), SHORT)
    assert error.kind is ErrorKind.HUNG
    assert error.reason.endswith("  busy")
    assert len(error.reason) < 1000


def test_the_time_to_decode_a_long_answer_counts(program, monkeypatch):
    """The clock is not waited for: here, the limit has passed when the answer is decoded."""

    def slow(line: bytes) -> Reply:
        if len(line) > 1 << 19 and client._child is not None:
            client._child.deadline = 0.0
        return decode_reply(line)

    monkeypatch.setattr("conformance.bridges.jsonl.client.decode_reply", slow)
    client = Client(program("outcome(value='x' * (1 << 20))"))
    client.request(Open("deque", {}))
    with pytest.raises(
        PortError, match=r"gave an answer to the call 'poll' that could not be decoded within 20 s"
    ) as told:
        client.request(POLL)
    assert told.value.kind is ErrorKind.HUNG


def test_a_line_that_nobody_asked_for_is_found_at_the_next_request(program):
    client = Client(
        program("sys.stdout.write(2 * (json.dumps({'type': 'outcome', 'outcome': {}}) + '\\n')); sys.stdout.flush()")
    )
    client.request(Open("deque", {}))
    assert client.request(POLL) == OneOutcome(StrictOutcome())
    with pytest.raises(PortError, match="wrote a line that answers no request"):
        client.request(POLL)
    client.close()


def test_a_second_answer_is_not_taken_for_that_to_the_next_request(program, tmp_path):
    """It comes a moment after the first one: here, when the test has opened a pipe."""
    os.mkfifo(gate := tmp_path / "gate")
    client = Client(program(f"outcome(); open({str(gate)!r}).close(); outcome()"))
    client.request(Open("deque", {}))
    assert client.request(POLL) == OneOutcome(StrictOutcome())
    gate.write_bytes(b"")
    assert client._child is not None
    assert select.select([client._child._stdout], [], [], 20)[0]
    with pytest.raises(PortError, match="wrote a line that answers no request"):
        client.request(POLL)
    client.close()


def test_a_program_may_log_more_than_a_pipe_holds(program):
    client = Client(program("print('x' * (1 << 20), file=sys.stderr); outcome(value=1)"))
    client.request(Open("deque", {}))
    for _ in range(3):
        assert client.request(POLL) == OneOutcome(StrictOutcome(1))
    client.close()


def test_a_request_may_be_longer_than_a_pipe_holds(program):
    client = Client(program("print('x' * (1 << 20), file=sys.stderr); outcome(value=len(request['call'][1]))"))
    client.request(Open("deque", {}))
    assert client.request(Call(("add", "y" * (3 << 20)))) == OneOutcome(StrictOutcome(3 << 20))
    client.close()


def test_a_request_that_is_not_understood_does_not_end_the_program(program):
    client = Client(program("say(type='error', reason='no such method')"))
    client.request(Open("deque", {}))
    pid = pid_of(client)
    for _ in range(2):
        with pytest.raises(PortError, match="refused the call 'poll': no such method"):
            client.request(POLL)
    assert pid_of(client) == pid
    client.close()
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("on_hello", "said"),
    [
        ("print('Welcome!', flush=True)", "did not say hello: it answered 'hello' with 'Welcome!': JSON is malformed"),
        ("sys.exit('no license')", "it exited with status 1; its log ends with:\n  no license\nIt must write"),
        (
            "pass",
            "gave no answer to 'hello' within 0.3 s. It must write nothing but answers to stdout, one JSON object "
            "per line, flush stdout after each",
        ),
        (
            "say(**{**HELLO, 'protocol': 2})",
            "speaks protocol 2. This suite speaks protocol 4: `fault` has a third argument",
        ),
        ("say(type='error', reason='too old')", "answered the greeting with: too old. It must speak protocol 4"),
        ("say(type='opened')", "which is not an answer to that request"),
        ("say(type='hello', protocol=3)", "missing required field `name`"),
    ],
)
def test_a_program_that_cannot_greet_is_unusable(program, on_hello, said):
    client = Client(program(on_hello=on_hello), start_seconds=SHORT if on_hello == "pass" else 60)
    with pytest.raises(UnusableImplementation) as caught:
        client.request(Open("deque", {}))
    assert said in str(caught.value)
    assert "docs/jsonl-protocol.md" in str(caught.value)
    assert client._child is None


def test_a_program_that_is_not_there_is_unusable(tmp_path):
    client = Client([str(tmp_path / "adapter")])
    with pytest.raises(UnusableImplementation, match=r"cannot be started: .*No such file.* Check the command\."):
        client.request(Open("deque", {}))


def test_a_program_that_cannot_be_started_again_is_a_finding(program, tmp_path):
    client = Client(program("sys.exit(1)"))
    client.request(Open("deque", {}))
    with pytest.raises(PortError):
        client.request(POLL)
    (tmp_path / "program.py").unlink()
    with pytest.raises(PortError, match="could not be started again") as caught:
        client.request(Open("deque", {}))
    assert caught.value.kind is ErrorKind.CRASHED


def test_a_program_that_comes_back_as_another_is_a_finding(program):
    client = Client(program(on_hello="say(**{**HELLO, 'version': str(os.getpid())})", on_call="sys.exit(1)"))
    client.request(Open("deque", {}))
    with pytest.raises(PortError):
        client.request(POLL)
    with pytest.raises(PortError, match=r"was started again and greets with the version '\d+' instead of '\d+'$"):
        client.request(Open("deque", {}))


def test_close_lets_a_program_exit_on_its_own(program, tmp_path):
    client = Client(program("outcome()"), cwd=tmp_path)
    client.request(Open("deque", {}))
    process = process_of(client)
    client.close()
    assert process.returncode == 0
    client.close()
    assert client.request(Open("deque", {})) == Opened()
    client.close()


@pytest.mark.parametrize("ending", ["", "raise SystemExit(1)", "del client"])
def test_no_process_is_left_behind(program, ending):
    """Not even one that neither reads its stdin nor heeds a polite request."""
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(type='opened'); signal.pause()"
    command = program(on_hello=f"say(**HELLO); {stubborn}")
    script = (
        "from conformance.bridges.jsonl import Client\n"
        f"client = Client({command!r})\nprint(client.greeting.name, client._child._started.pid, flush=True)\n{ending}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    name, pid = done.stdout.split()
    assert name == "bad", done.stderr
    assert not is_running(int(pid))


def test_an_interrupted_request_leaves_no_answer_behind(program, monkeypatch):
    client = Client(program("outcome(value=request['call'][1])"))
    client.request(Open("deque", {}))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        assert client._child is not None
        patched.setattr(client._child, "_read_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.request(Call(("add", 1)))
    client.request(Open("deque", {}))
    assert client.request(Call(("add", 2))) == OneOutcome(StrictOutcome(2))
    client.close()


def test_a_fork_starts_a_program_of_its_own(program):
    client = Client(program("outcome(value=os.getpid())"))
    client.request(Open("deque", {}))
    mine = client.request(POLL)
    assert client._child is not None
    client._child._owner = -1  # as it would look in a forked process
    with pytest.raises(PortError, match="forked"):
        client.request(POLL)
    client.request(Open("deque", {}))
    assert client.request(POLL) != mine
    client.close()


def test_what_is_sent_is_one_line():
    assert encode(Refused("two\nlines")) == b'{"type":"error","reason":"two\\nlines"}\n'


def test_a_program_that_takes_too_much_memory_has_crashed(program):
    client = Client(
        program("hold = []\n            while True: hold.append(bytearray(8 << 20))"), most_memory=200 << 20
    )
    client.request(Open("deque", {}))
    pid = pid_of(client)
    with pytest.raises(PortError, match="used more than 200 MiB of memory") as caught:
        client.request(POLL)
    assert caught.value.kind is ErrorKind.CRASHED
    assert not is_running(pid)


def test_what_a_program_leaves_behind_when_it_exits_is_ended_too(program, tmp_path):
    """Hundreds of orphans were left by programs that fork at each call and exit."""
    pids = tmp_path / "pids"
    fork = f"pid = os.fork(); pid or signal.pause(); open({str(pids)!r}, 'a').write(f'{{pid}} '); os._exit(0)"
    client = Client(program(fork))
    for _ in range(3):
        client.request(Open("deque", {}))
        with pytest.raises(PortError, match="exited with status 0"):
            client.request(POLL)
    client.close()
    left = [int(one) for one in pids.read_text().split()]
    assert len(left) == 3
    assert not [pid for pid in left if is_running(pid)]


def test_no_escape_sequence_of_a_program_gets_into_a_message(program):
    _, error = failing(program(r"print('\x1b[2Jgone\r\x07', file=sys.stderr); sys.exit(1)"))
    assert error.reason.endswith("its log ends with:\n  \\x1b[2Jgone\\r\\x07")


def test_no_escape_sequence_of_a_name_reaches_the_terminal(program):
    command = program(on_hello=r"say(**{**HELLO, 'name': '\x1b[2Jmine', 'components': []})")
    check = ["check", "--component", "deque", "--implementation", f"jsonl:{shlex.join(command)}"]
    done = subprocess.run(
        [sys.executable, "-c", "from conformance.cli import main; main()", *check],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert r"the name with which the program greets is '\x1b[2Jmine'" in done.stderr
    assert "\x1b" not in done.stderr
