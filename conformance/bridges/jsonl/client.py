"""One program behind the protocol: started when first needed, and again after it died."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import asdict

from conformance import __version__
from conformance.bridges.jsonl.process import ChildProcess, Died, Hung, Record, shortened
from conformance.bridges.jsonl.protocol import (
    NEW_IN_THIS_PROTOCOL,
    PROTOCOL,
    Call,
    Close,
    Closed,
    Greeting,
    Hello,
    OneOutcome,
    Open,
    Opened,
    Outcomes,
    Refused,
    Reply,
    Request,
    Resume,
    RunScenario,
    decode_reply,
    encode,
)
from conformance.ports import ErrorKind, PortError, UnusableImplementation
from conformance.system.processes import fate

_LONG = 1 << 16
"""The time to decode an answer of more bytes than this counts as that of the program."""
_PAIRS = re.compile(rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""What is left of a surrogate in JSON when backslashes that stand for themselves, and pairs, are taken out."""
_EXPECTED: dict[type[Request], type[Reply]] = {
    Hello: Greeting,
    Open: Opened,
    Call: OneOutcome,
    Resume: OneOutcome,
    RunScenario: Outcomes,
    Close: Closed,
}


class Client:
    """Starts one program and sends it requests. Not for use by several threads; needs a POSIX system."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout_seconds: float = 20.0,
        start_seconds: float = 60.0,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        exit_statuses: Mapping[int, str] | None = None,
        most_memory: int | None = None,
    ) -> None:
        """`timeout_seconds` limits each answer; `start_seconds` the first one, which includes starting the program.

        `most_memory` is how many bytes of memory the program may use, with all processes that it starts.
        `exit_statuses` says in messages what an exit status of the program means.
        """
        self.command = tuple(command)
        self._timeout_seconds = timeout_seconds
        self._start_seconds = start_seconds
        self._cwd = cwd
        self._env = env
        self._exit_statuses = exit_statuses or {}
        self._most_memory = most_memory
        self._child: ChildProcess | None = None
        self._greeting: Greeting | None = None
        self._lost = "was not started yet"
        self._record: Record | None = None
        """Of the process that is started next."""

    @property
    def greeting(self) -> Greeting:
        """The program's answer to `hello`. Starts the program if it was not started yet.

        Raises: UnusableImplementation; its text says what to do.
        """
        if self._greeting is None:
            self._start()
        assert self._greeting is not None
        return self._greeting

    def request(self, message: Request) -> Reply:
        """Send a request and return the answer, which is of the kind that belongs to the request.

        Raises: UnusableImplementation if the program never answered `hello`; PortError HUNG if it does not answer in
        time; PortError CRASHED if it dies, breaks the protocol or refuses the request.
        """
        reply = self.reply(message)
        if isinstance(reply, Refused):
            raise PortError(ErrorKind.CRASHED, f"the program refused {_name(message)}: {reply.reason}")
        return reply

    def reply(self, message: Request) -> Reply:
        """Send a request and return the answer, which may be `Refused` to any request.

        `Open` and `RunScenario` start a program again that crashed or hung: only they do not depend on earlier
        requests.

        Raises: as `request`, but not for a refusal. A program that crashed or hung is killed.
        """
        child = self._running(restart=isinstance(message, Open | RunScenario))
        try:
            return self._ask(child, message, self._timeout_seconds)
        except (Died, Hung) as error:
            self._give_up(child, error)
            kind = ErrorKind.HUNG if isinstance(error, Hung) else ErrorKind.CRASHED
            raise PortError(kind, f"the program {self._lost}") from None
        except UnusableImplementation:
            self._give_up(child, Died("cannot be used"))
            raise
        except BaseException:  # interrupted: a late answer must not be taken for the answer to the next request
            self._give_up(child, Died("was interrupted"))
            raise

    def check(self, reply: Reply) -> None:
        """For subclasses, which are given each answer.

        Raises: UnusableImplementation if it says that the program is not the one that was asked for, or cannot be used.
        """

    def close(self) -> str:
        """Ask the program to exit, and kill it if it does not. The next request starts it again.

        Returns: what was wrong with the way it ended; empty if nothing was, or if it was not running.
        """
        child, self._child = self._child, None
        if child is None or not child.is_ours:
            return ""
        wrong = ""
        try:
            reply = self._ask(child, Close(), min(self._timeout_seconds, 2.0))
            if isinstance(reply, Refused):
                wrong = f"refused 'close': {reply.reason}"
        except (Died, Hung) as error:
            wrong = str(error)
        code = child.leave()
        return wrong or ("" if code == 0 else "did not exit after it answered 'closed'" if code is None else fate(code))

    @contextmanager
    def recording(self) -> Iterator[Record]:
        """End the program, and record what the next process of it reads and writes, until that ends.

        It ends with the block at the latest. What starts after it in the same block is not recorded: a debugger runs
        one process.
        """
        self.close()
        self._record = record = Record()
        try:
            yield record
        finally:
            self._record = None
            self.close()

    def _running(self, restart: bool) -> ChildProcess:
        if self._child is not None and not self._child.is_ours:
            self._child = None
            self._lost = "belongs to the process that this one was forked from"
        if self._child is None and self._greeting is None:
            self._start()
        elif self._child is None:
            if not restart:
                raise PortError(ErrorKind.CRASHED, f"the program is gone: it {self._lost}")
            self._start_again()
        assert self._child is not None
        return self._child

    def _start_again(self) -> None:
        known = self.greeting
        try:
            self._start()
        except UnusableImplementation as error:
            raise PortError(ErrorKind.CRASHED, f"the program could not be started again. {error}") from None
        if self._greeting != known:
            self.close()
            now, self._greeting = self._greeting, known
            raise PortError(ErrorKind.CRASHED, f"the program was started again and greets with {_unlike(known, now)}")

    def _start(self) -> None:
        record, self._record = self._record, None
        try:
            child = ChildProcess(self.command, self._cwd, self._env, self._exit_statuses, self._most_memory, record)
        except (OSError, ValueError) as error:
            raise self._unusable(f"cannot be started: {error}", "Check the command.") from None
        try:
            greeting = self._ask(child, Hello(PROTOCOL, __version__), self._start_seconds)
        except (Died, Hung) as error:
            self._give_up(child, error)
            raise self._unusable(
                f"did not say hello: it {self._lost}",
                "It must write nothing but answers to stdout, one JSON object per line, flush stdout after each one, "
                "and write its log to stderr.",
            ) from None
        except UnusableImplementation:
            child.kill()
            raise
        if isinstance(greeting, Greeting) and greeting.protocol == PROTOCOL:
            self._child, self._greeting = child, greeting
            return
        child.kill()
        if isinstance(greeting, Greeting):
            cure = f"This suite speaks protocol {PROTOCOL}: {NEW_IN_THIS_PROTOCOL}."
            raise self._unusable(f"speaks protocol {greeting.protocol}", cure)
        assert isinstance(greeting, Refused)
        cure = f"It must speak protocol {PROTOCOL}: {NEW_IN_THIS_PROTOCOL}."
        raise self._unusable(f"answered the greeting with: {greeting.reason}", cure)

    def _unusable(self, what: str, cure: str) -> UnusableImplementation:
        end = "\n" if "\n" in what else ". "  # behind its log, a line of ours begins
        return UnusableImplementation(
            f"The program `{shlex.join(self.command)}` {what}{end}{cure} The suite runs it without a shell, in the "
            f"folder {os.path.abspath(self._cwd or os.curdir)}; docs/jsonl-protocol.md describes the requests."
        )

    def _ask(self, child: ChildProcess, message: Request, seconds: float) -> Reply:
        try:
            line = child.ask(encode(message), seconds)
        except Hung as error:
            child.kill()
            raise Hung(f"gave no answer to {_name(message)} within {seconds:g} s{error}{child.log()}") from None
        try:
            reply = decode_reply(line)
        except ValueError as error:
            why = str(error)[:200]  # it may quote the line
            whole = line.strip()
            if not (whole.startswith(b"{") and whole.endswith(b"}")) and not isinstance(message, Hello):
                why += "; it must write nothing but answers to stdout, each on one line, and its log to stderr"
            elif _HALF.search(_PAIRS.sub(b"", line)):
                why = "a text has half of a character, a surrogate without the other one"
            elif why.startswith(("Invalid enum value ", "Invalid value ", "Object contains unknown field ")):
                why += "; `conformance docs jsonl-protocol` lists the right ones"
            raise Died(f"answered {_name(message)} with {shortened(line)}: {why}") from None
        if len(line) > _LONG and time.monotonic() > child.deadline:
            raise Hung(
                f"gave an answer to {_name(message)} that could not be decoded within {seconds:g} s{child.log()}"
            )
        if not isinstance(reply, _EXPECTED[type(message)] | Refused):
            raise Died(
                f"answered {_name(message)} with {shortened(line)}, which is not an answer to that request, "
                "but perhaps a second one to the request before"
            )
        self.check(reply)
        return reply

    def _give_up(self, child: ChildProcess, error: Exception) -> None:
        child.kill()
        self._child = None
        self._lost = str(error)


def _unlike(known: Greeting, now: Greeting | None) -> str:
    """What a second greeting has that is not as in the first."""
    first, second = asdict(known), {} if now is None else asdict(now)
    unlike = [one for one in first if first[one] != second.get(one)]
    return " and ".join(f"the {one} {second.get(one)!r} instead of {first[one]!r}" for one in unlike)


def _name(message: Request) -> str:
    """A request, as error messages name it."""
    if isinstance(message, Call):
        return f"the call {message.call[0]!r}" if message.call else "an empty call"
    return f"{type(message).__struct_config__.tag!r}"
