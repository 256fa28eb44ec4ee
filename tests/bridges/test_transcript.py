"""The bug report of a program has what was sent to it and what it wrote, so that it fails without the suite, too."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.bridges.jsonl import Client, JsonLinesImplementation
from conformance.bridges.jsonl.process import Record
from conformance.bridges.jsonl.protocol import (
    Call,
    Greeting,
    Hello,
    OneOutcome,
    Open,
    Opened,
    Resume,
    decode_reply,
    decode_request,
)
from conformance.components import COMPONENTS
from conformance.driver import FailureClass, Program
from conformance.engines import Found, replay
from conformance.engines.apart import Apart
from conformance.engines.interruption import NEVER, Interruption, OnRequest
from conformance.engines.transcribe import transcribe
from conformance.ports import (
    MOST_TRANSCRIPT,
    Implementation,
    Limits,
    OversizedTranscript,
    Transcript,
    find_implementation,
)
from conformance.reporting import report_violation
from conformance.reporting.reports_folder import FILES
from conformance.scenarios import Scenario

PROGRAM_FILES = ["answers.jsonl", "calls.jsonl"]
OTHER_FILES = ["history.json", "report.md", "scenario.json", "test_reproduce.py"]
SECONDS = 1.0
LIMITS = Limits(step_seconds=SECONDS)
DEQUE = COMPONENTS["deque"]
SCENARIO = Scenario("deque", DEQUE.configs[0], (("add", 0), ("add", 1), ("prioritize", 0), ("poll",)))
ADD, POLL = (Scenario("deque", DEQUE.configs[0], (step,)) for step in (("add", 0), ("poll",)))
COMMAND = "CONFORMANCE_TEST_COMMAND"


@pytest.fixture
def broken(deque_program: list[str]) -> list[str]:
    """The command of a deque that puts what is prioritized at the end."""
    script = Path(deque_program[-1])
    source = script.read_text(encoding="utf-8")
    right = '            self.add_priority({"handle": handle})\n'
    assert source.count(right) == 1
    script.write_text(source.replace(right, "            self.handles.append(handle)\n"), encoding="utf-8")
    return deque_program


def elsewhere() -> Implementation:
    """An implementation that is not the suite's own: it runs in a worker."""
    return JsonLinesImplementation(os.environ[COMMAND].split("\n"), timeout_seconds=SECONDS)


def reported(
    folder: Path,
    implementation: Implementation,
    scenario: Scenario,
    interruption: Interruption = NEVER,
    name: str = "jsonl:adapter -v",
) -> Path:
    """Write the report of a failure of this scenario, whose class is that of failures which are not run many times."""
    seen = replay(scenario, implementation)
    assert seen.violation is not None
    signature = (seen.violation.property.slug, FailureClass.CRASHED.value, "poll")
    found = Found(signature, "", "", scenario, 1)
    report_violation(folder, name, found, implementation, (), interruption=interruption)
    (path,) = folder.iterdir()
    return path


def names(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir())


def said_alone(command: list[str], calls: bytes) -> bytes:
    """What the program writes when it reads these lines without the suite."""
    return subprocess.run(command, input=calls, stdout=subprocess.PIPE, timeout=60, check=False).stdout


def recorded(command: list[str], scenario: Scenario) -> Transcript:
    with closing(JsonLinesImplementation(command, timeout_seconds=SECONDS)) as implementation:
        found = transcribe(Program(COMPONENTS[scenario.component], implementation), scenario)
    assert isinstance(found, Transcript)
    return found


@pytest.fixture(params=["here", "in a worker"])
def make(request, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[list[str]], Implementation]]:
    """Makes the implementation of a command, in this process or in a worker."""
    made: list[Implementation] = []

    def one(command: list[str]) -> Implementation:
        monkeypatch.setenv(COMMAND, "\n".join(command))
        made.append(elsewhere() if request.param == "here" else Apart(f"{__name__}:elsewhere", LIMITS))
        return made[-1]

    yield one
    for implementation in made:
        implementation.close()


def test_a_program_fails_alone_as_it_failed_with_the_suite(tmp_path, broken, make):
    path = reported(tmp_path / "bugs", make(broken), SCENARIO)
    assert names(path) == sorted(PROGRAM_FILES + OTHER_FILES)
    assert set(names(path)) <= set(FILES), "all files of a report are removed with it"
    calls, answers = ((path / name).read_bytes() for name in ("calls.jsonl", "answers.jsonl"))
    assert said_alone(broken, calls) == answers
    sent = [decode_request(line) for line in calls.splitlines()]
    assert sent[1] == Open("deque", {})
    said = dict(zip(map(repr, sent), map(decode_reply, answers.splitlines()), strict=True))
    polled = said[repr(Call(("poll",)))]
    assert isinstance(polled, OneOutcome)
    assert polled.outcome.value == 1, "the item that was not prioritized"


def test_the_report_says_how_to_use_them_if_they_are_there(tmp_path, broken):
    with closing(JsonLinesImplementation(broken)) as implementation:
        text = (reported(tmp_path / "program", implementation, SCENARIO) / "report.md").read_text()
        interruption = OnRequest()
        interruption.request()
        interrupted = reported(tmp_path / "interrupted", implementation, SCENARIO, interruption)
    assert "\nconformance replay FOLDER/scenario.json --implementation 'jsonl:adapter -v'\n" in text
    assert "\npython -m pytest FOLDER/test_reproduce.py\n" in text
    assert "\nadapter -v < FOLDER/calls.jsonl | diff FOLDER/answers.jsonl -\n" in text
    assert names(interrupted) == OTHER_FILES
    assert "calls.jsonl" not in (interrupted / "report.md").read_text()


def test_an_adapter_in_python_has_no_wire(tmp_path):
    found = Program(DEQUE, find_implementation("reference"))
    assert transcribe(found, SCENARIO) is None
    with closing(Apart("tests.engines.hostile:buggy")) as apart:
        component = COMPONENTS["subpartition"]
        scenario = Scenario("subpartition", component.configs[0], ())
        assert transcribe(Program(component, apart), scenario) is None


def test_what_is_too_long_is_left_out_and_the_report_says_how_to_get_it(tmp_path, program, make):
    """Each answer is a few blanks longer than a fifth of the limit, so that five of them are too much."""
    blanks = MOST_TRANSCRIPT // 5 + 100
    longer = Scenario("deque", DEQUE.configs[0], (*SCENARIO.steps[:3], ("prioritize", 1), ("poll",)))
    command = program(f"sys.stdout.write(' ' * {blanks}); outcome()")
    path = reported(tmp_path / "bugs", make(command), longer, name=f"jsonl:{shlex.join(command)}")
    assert names(path) == OTHER_FILES
    text = (path / "report.md").read_text()
    assert f" and {5 * blanks / (1 << 20):,.1f} MiB, and a bug report has at most 16.0 MiB of them" in text
    _, line = (one for one in text.splitlines() if one.startswith("conformance replay FOLDER"))
    arguments = shlex.split(line.replace("FOLDER", str(path)))[1:]
    conformance = [sys.executable, "-c", "from conformance.cli import main; main()"]
    done = subprocess.run([*conformance, *arguments], cwd=tmp_path, check=False, capture_output=True, timeout=120)
    assert done.returncode == 1, done.stderr
    calls, answers = ((tmp_path / name).read_bytes() for name in ("calls.jsonl", "answers.jsonl"))
    assert len(answers) > MOST_TRANSCRIPT
    assert [type(decode_request(one)) for one in calls.splitlines()][:3] == [Hello, Open, Call]
    assert said_alone(command, calls) == answers


def test_the_limit_is_that_of_both_files_together():
    record, noted = Record(most=10), list[Transcript | OversizedTranscript]()
    for add, part in (
        (record.add_sent, b"12345"), (record.add_received, b"12345"),
        (record.add_sent, b"6"), (record.add_received, b"67"),
    ):  # fmt: skip
        add(part)
        noted.append(record.transcript)
    assert noted == [
        Transcript(b"12345", b""),
        Transcript(b"12345", b"12345"),
        OversizedTranscript(6, 5),
        OversizedTranscript(6, 7),
    ]


class WithDeque(Implementation):
    """Its deque is that of the reference."""

    capabilities = frozenset()

    def components(self):
        return {"deque": find_implementation("reference").components()["deque"]}


class Talkative(WithDeque):
    """Pays no heed to the limit."""

    name = "talkative"

    def transcript(self, run):
        return Transcript(b"?", bytes(MOST_TRANSCRIPT))


def test_the_limit_holds_for_every_implementation():
    assert transcribe(Program(DEQUE, Talkative()), SCENARIO) == OversizedTranscript(1, MOST_TRANSCRIPT)


class Raising(WithDeque):
    """Its transcript goes wrong in a way of its own."""

    name = "raising"

    def transcript(self, run):
        raise ZeroDivisionError


def test_a_transcript_that_raises_anything_costs_nothing_but_itself():
    assert transcribe(Program(DEQUE, Raising()), SCENARIO) is None


def test_the_same_run_has_the_same_transcript_and_the_program_goes_on(broken):
    with closing(JsonLinesImplementation(broken)) as implementation:
        program = Program(DEQUE, implementation)
        first, second = transcribe(program, SCENARIO), transcribe(program, SCENARIO)
        assert first == second
        assert replay(SCENARIO, implementation).violation is not None


def test_an_operation_that_waits_is_resumed_in_it():
    command = [sys.executable, "-m", "conformance.bridges.jsonl", "serve", "reference"]
    config = COMPONENTS["remote-channel"].config_type("pushed")
    steps = (("request_subpartition",), ("push_recovered",), ("event", 0))
    found = recorded(command, Scenario("remote-channel", config, steps))
    assert any(isinstance(decode_request(line), Resume) for line in found.calls.splitlines())
    assert said_alone(command, found.calls) == found.answers


@pytest.mark.parametrize(
    "on_call",
    ["os._exit(3)", "time = __import__('time'); time.sleep(600)"],
    ids=["dies", "hangs"],
)
def test_the_lines_up_to_the_end_of_the_program_are_kept(tmp_path, program, make, on_call):
    command = program(f"sys.stdout.write('half a li'); sys.stdout.flush(); {on_call}")
    path = reported(tmp_path / "bugs", make(command), ADD)
    assert names(path) == sorted(PROGRAM_FILES + OTHER_FILES)
    hello, opened, last = map(decode_request, (path / "calls.jsonl").read_bytes().splitlines())
    assert (type(hello), type(opened)) == (Hello, Open)
    assert isinstance(last, Call)
    greeting, reply, rest = (path / "answers.jsonl").read_bytes().splitlines()
    assert isinstance(decode_reply(greeting), Greeting)
    assert decode_reply(reply) == Opened()
    assert rest == b"half a li"


def test_what_is_no_text_is_kept_as_it_was_written(tmp_path, program):
    command = program(r"sys.stdout.buffer.write(b'\xff\r\n'); sys.stdout.flush()")
    with closing(JsonLinesImplementation(command)) as implementation:
        path = reported(tmp_path / "bugs", implementation, POLL)
    assert (path / "answers.jsonl").read_bytes().endswith(b"}\n\xff\r\n")


def test_a_second_process_of_the_program_is_not_recorded(program):
    client = Client(program("os._exit(3)"))
    with client.recording() as record:
        for _ in range(2):
            client.request(Open("deque", {}))
            with pytest.raises(Exception, match="status 3"):
                client.request(Call(("poll",)))
    sent = record.transcript
    assert isinstance(sent, Transcript)
    assert [type(decode_request(line)) for line in sent.calls.splitlines()] == [Hello, Open, Call]
    client.request(Open("deque", {}))
    client.close()
    assert record.transcript == sent, "it has ended"


def test_a_program_that_cannot_be_started_again_has_a_short_transcript(tmp_path, program):
    mark = tmp_path / "mark"
    mark.touch()
    command = program(on_hello=f"os.path.exists({str(mark)!r}) or os._exit(4); say(**HELLO)")
    with closing(JsonLinesImplementation(command)) as implementation:
        tested = Program(DEQUE, implementation)
        mark.unlink()
        found = transcribe(tested, POLL)
    assert isinstance(found, Transcript)
    assert [type(decode_request(line)) for line in found.calls.splitlines()] == [Hello]
    assert found.answers == b""


def test_a_program_that_was_never_there_has_an_empty_transcript(tmp_path):
    implementation = JsonLinesImplementation([str(tmp_path / "nothing")])
    assert implementation.transcript(lambda: implementation.capabilities) == Transcript(b"", b"")
