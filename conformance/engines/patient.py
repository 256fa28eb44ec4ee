"""Examines one component of an implementation, for `conformance doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from time import perf_counter
from typing import Any

from msgspec.structs import asdict

from conformance.driver import Program, as_error
from conformance.engines.batch import CALLED_ONLY_WITH, generator_of, searching
from conformance.engines.calls import ENDING, Happened, asked_for, draw, in_use, perform, told, unsaid
from conformance.engines.claims import unclaimed
from conformance.engines.search import seeds
from conformance.ports import (
    Capability,
    ErrorKind,
    Examined,
    FaultStruck,
    Implementation,
    Outcome,
    PortError,
    Resources,
)
from conformance.ports.exact import shown
from conformance.ports.implementation import NEW, Batch, Call
from conformance.ports.signatures import FAULT, answer_type

NEEDED: dict[Capability, tuple[str, ...]] = {
    Capability.RESOURCES: ("resources",),
    Capability.PERSISTED_READBACK: ("persisted", "snapshot"),
    Capability.OUTPUT_RECOVERED_UPSTREAM: (
        "subpartition.recover", "subpartition.finish_recovery", "recover_output", "finish_output_recovery",
    ),
    Capability.FAULTS: ("fault",),
    Capability.RECOVERS_BY_PUSHING: ("insert_recovery_barrier", "insert_recovery_barriers"),
    **CALLED_ONLY_WITH,
}  # fmt: skip
"""For each capability, the operations that only an implementation with this capability needs. A name with a component
means the operation of that component, a name without one the operation of all components that have it."""
FEW_JUDGED = 30
"""In how many scenarios the doctor looks for a capability that is there and not claimed."""
_FRESH = "The same calls must have the same outcomes on every fresh object."
_GREETS = "the program was started again and greets "
_ENDED = tuple(
    f"the program {how} "
    for how in ("exited with status", "was ended by", "closed its stdout,", "used more than", "is gone:")
)
"""How the text about a program begins that has ended; `conformance.bridges.jsonl` says it."""
_BROKE = tuple(f"the program {how} " for how in ("answered", "wrote"))
"""How it begins if the program has broken the protocol."""
_PAGE = "`conformance docs jsonl-protocol` says what it may be"


class Patient:
    """One component under examination. `histories` has the outcomes of each of the `scenarios`."""

    def __init__(
        self, program: Program, make: Callable[[], Implementation], say: Callable[[str], None] = unsaid
    ) -> None:
        """`say` is called with what is done with the implementation, before it is done."""
        self.component = program.component
        self.scenarios: list[tuple[Call, ...]] = []
        self.histories: list[list[Happened]] = []
        self.wrong = False
        self.calls = 0
        self.seconds = 0.0
        self.batches = 0
        self.batch_seconds = 0.0
        self.faults_armed: list[bool] = []
        """Of each fault, whether it was armed."""
        self.counts_resources = False
        self._program = program
        self._make = make
        self._say = say
        self._name = program.component.name

    def examine(self) -> Iterator[Examined]:
        """Yields the results of the examinations in order, until one finds something wrong that the next ones need."""
        for look in (self._ports, self._outcomes, self._answers, self._batch, self._release):
            for one in look():
                self.wrong = self.wrong or one.wrong
                yield one
            if self.wrong:
                return

    @property
    def repeats(self) -> bool:
        """Whether the same calls must have the same outcomes every time."""
        return self._program.repeats

    def difference(
        self, first: Sequence[Happened], second: Sequence[Happened], names: tuple[str, str] = ("first", "then")
    ) -> str:
        """Returns a text about the first call at which two histories differ; empty if they are the same, or need not
        be."""
        if not self.repeats:
            return ""
        for number, (one, other) in enumerate(zip_longest(first, second)):
            if one is None or other is None:
                known = one or other
                return f"Only one of two runs reached call {number}, {shown(known.call)}: {_outcome(known.outcome)}."
            if not one.same(other):
                return (
                    f"The first call that differs is call {number}, {shown(one.call)}: {names[0]} "
                    f"{_outcome(one.outcome)}, {names[1]} {_outcome(other.outcome)}."
                )
        return ""

    def _perform(self, calls: Sequence[Call]) -> list[Happened]:
        return perform(self.component, self._program.factory, calls, self._say)

    # ---- ports -------------------------------------------------------------------------------------------------------
    def _ports(self) -> Iterator[Examined]:
        configs: list[Any] = []
        for one in self._program.configs:
            config = self.component.port_config(one)
            if one.interleaving == "whole" and config not in configs:
                configs.append(config)
        if not configs:
            needs = sorted({need for one in self.component.configs for need in self.component.needs(one)})
            yield self._wrong(
                "configurations", f"It claims no capability that a {self._name} needs: {', '.join(needs)}.",
                f"Claim the capabilities that it has, or do not offer {self._name}.",
            )  # fmt: skip
            return
        for config in configs:
            self._say(f"when it made a {self._name} from {shown(config)}")
            try:
                port = self._program.factory(config)
            except BaseException as error:
                kind, reason, _ = _error(as_error(error))
                cure = _cure_of_a_program(reason) or (
                    "Make a port from every legal configuration. If a feature is missing, do not claim its capability."
                )
                found = f"The factory made no {self._name} from {shown(config)}: {kind}, {reason}."
                yield self._wrong("configurations", found, cure)
                return
            if not isinstance(port, self.component.port):
                yield self._wrong(
                    "configurations", f"From {shown(config)} the factory made a {type(port).__name__}.",
                    f"Make an object of a subclass of conformance.ports.{self.component.port.__name__}.",
                )  # fmt: skip
                return
        self._say("")
        yield self._well(
            "configurations", f"The factory makes ports from {f'all {len(configs)}' if len(configs) > 1 else 'it'}."
        )

    # ---- the same again ----------------------------------------------------------------------------------------------
    def _outcomes(self) -> Iterator[Examined]:
        for calls in draw(self._program):
            started = perf_counter()
            history = self._perform(calls)
            self.seconds += perf_counter() - started
            self.calls += len(history)
            self.scenarios.append(calls)
            self.histories.append(history)
            if any(_is(ErrorKind.HUNG, one) for one in history):
                yield self._unanswered(len(self.histories) - 1)
                return
            self._perform(calls[: len(calls) // 2])  # leaves an object in mid-scenario
            again = self._perform(calls)
            if difference := self.difference(history, again):
                yield self._unlike(calls, history, again, difference)
                return

    def _unlike(
        self, calls: Sequence[Call], history: list[Happened], again: list[Happened], difference: str
    ) -> Examined:
        """Returns the finding if the second run differs from the first: was state left over, or was it chance?

        If a program has ended in one of the two, that is the finding: whatever was left over, it must not end."""
        if ended := next((one for one in (history, again) if _has_ended(one)), None):
            _, reason, _ = _error(ended[-1].outcome.error)
            found = f"In one of two runs of the same calls, the program ended. {difference}"
            return self._wrong("results", found, _cure_of_a_program(reason))
        with in_use(self._make, self._say) as other:
            fresh = perform(self.component, other.components()[self._name], calls, self._say)
        if self.difference(history, fresh) and len(self.histories) == 1:
            return self._wrong(
                "the same again", f"The same calls had other outcomes the second time, and the third. {difference}",
                f"{_FRESH} Use no clock, no random number, no order of a hash table.",
            )  # fmt: skip
        return self._wrong(
            "a fresh object", f"The same calls had other outcomes the second time. {difference}",
            f"{_FRESH} A new object must drop the one before, with all data of it that is kept elsewhere.",
        )  # fmt: skip

    # ---- results -----------------------------------------------------------------------------------------------------
    def _answers(self) -> Iterator[Examined]:
        reported: set[str] = set()
        has_ended = False
        doubtful: dict[str, Examined] = {}
        yield from self._without_reason()
        for number, history in enumerate(self.histories):
            operation = str(history[-1].call[0])
            if not history[-1].ended or operation in reported or (has_ended and _has_ended(history)):
                continue
            one = self._unanswered(number)
            if self._was_foreseen(number):
                reported.add(operation)
                has_ended = has_ended or _has_ended(history)
                yield one
            else:
                doubtful.setdefault(operation, Examined(one.what, f"{one.found} {_DOUBT}", noted=True))
        yield from (one for operation, one in doubtful.items() if operation not in reported)
        names = asked_for(self._program)
        called = {happened.call[0] for history in self.histories for happened in history}
        self.counts_resources = any(
            happened.call[0] == "resources" and isinstance(happened.outcome.value, Resources)
            and any(count is not None for count in asdict(happened.outcome.value).values())
            for history in self.histories for happened in history
        )  # fmt: skip
        self.faults_armed += [
            happened.outcome.value is True
            for history in self.histories for happened in history if happened.call[0] == FAULT
        ]  # fmt: skip
        missing = [name for name in names if name not in called]
        if missing and not reported:
            yield Examined(f"{self._name}: results", f"No scenario called {', '.join(missing)}.", noted=True)
        if not (reported or doubtful or self.wrong):
            yield self._well(
                "results", f"{len(names) - len(missing)} of {len(names)} operations were called, in "
                f"{len(self.scenarios)} scenarios and {self.calls} calls; each returned what its interface says.",
            )  # fmt: skip

    def _without_reason(self) -> Iterator[Examined]:
        """Yields the finding if an error has no checkpoint reason and must have one: the first of them."""
        for history in self.histories:
            for number, (call, outcome) in enumerate(history):
                error = outcome.error
                if error is not None and error.kind is ErrorKind.CHECKPOINT and error.checkpoint_reason is None:
                    yield self._wrong(
                        "results", f"`{call[0]}` failed at call {number}, {shown(call)}, with an error of kind "
                        "checkpoint and without a `checkpoint_reason`.",
                        "Say with an error of kind checkpoint, and with no other, why the checkpoint failed.",
                    )  # fmt: skip
                    return

    def _was_foreseen(self, number: int) -> bool:
        """Returns whether all earlier results were those of the reference, so that the last call was allowed."""
        return _alike(self.histories[number][:-1], self._owed(self.scenarios[number]))

    def _unanswered(self, number: int) -> Examined:
        """Returns the finding for the last call of a history, which did not return what its interface allows."""
        call, outcome = self.histories[number][-1]
        operation = str(call[0])
        kind, reason, _ = _error(outcome.error)
        if operation == NEW:
            return self._wrong(
                "results", f"In the middle of a scenario, the factory made no port from {shown(call[1])}: {reason}.",
                "A scenario makes further ports where a restore begins; each replaces the port before.",
            )  # fmt: skip
        found = f"`{operation}` failed at call {len(self.histories[number]) - 1}, {shown(call)}: {reason}."
        wants = _type_name(answer_type(getattr(self.component.port, operation)))
        cure = _cure_of_a_program(reason) or f"`{operation}` returns {wants}, or an error of a kind other than crashed."
        if kind == ErrorKind.HUNG:
            cure = f"`{operation}` must return at once: {wants}, or that it waits. No operation may block the program."
        for capability, needed in NEEDED.items():
            if {operation, f"{self._name}.{operation}"} & set(needed) and capability in self._program.capabilities:
                found += f" The implementation claims `{capability}`, which needs the operation."
                cure += f" If the operation is not possible, do not claim `{capability}`."
        return self._wrong("results", found, cure)

    # ---- capabilities ------------------------------------------------------------------------------------------------
    def unclaimed(self) -> Iterator[Capability]:
        """Yields the capabilities that the implementation does not claim, and with which it breaks no property in a
        scenario that breaks one. Searches find more; this is a first look at a few scenarios."""
        search = searching(self._program)
        for number, seed in enumerate(seeds("claims", self._name, range(FEW_JUDGED)), start=1):
            self._say(f"in scenario {number} of a {self._name} that was judged")
            scenario, run = search.run(seed)
            if run.violation is not None:
                yield from unclaimed(self._program, scenario, run.violation.broken.failure_class)
                break
        self._say("")

    # ---- in one message ----------------------------------------------------------------------------------------------
    def _batch(self) -> Iterator[Examined]:
        batch = self._program.implementation.batch
        if batch is None or not self.repeats:
            return
        for calls, history in zip(self.scenarios, self.histories, strict=True):
            waits = any(one.outcome.paused_at is not None for one in history)
            for attempt in (1, 2):
                told_so, complaint = self._run(batch, calls, waits)
                if complaint is not None:
                    yield complaint
                    return
                if told_so is None:
                    continue
                ways = ("step by step", "in one message")
                if difference := self.difference(history, _until_the_end(told_so), ways):
                    said = "The same calls had other outcomes step by step than in one message."
                    cure = "Treat each call of a `scenario` like a `call`, and `new` like `open`."
                    if attempt == 2:
                        said = "The same scenario in one message had other outcomes the second time."
                        cure = f"{_FRESH} `new` must drop the object before, as `open` does."
                    yield self._wrong("in one message", f"{said} {difference}", cure)
                    return
        yield self._well("in one message", "A whole scenario has the same outcomes as its calls step by step.")

    def _run(self, batch: Batch, calls: Sequence[Call], waits: bool) -> tuple[list[Happened] | None, Examined | None]:
        """Send a scenario in one message. Returns its history, or None if an operation waits; then what was wrong."""
        self._say(f"when it was sent a scenario of a {self._name} in one message")
        started = perf_counter()
        try:
            outcomes = batch(self._name, calls[0][1], calls)
        except PortError as error:
            if error.kind is ErrorKind.PROTOCOL and waits:
                return None, None
            cure = "Answer a `scenario` with one outcome for each call, `new` included; go on after an error."
            if error.kind is ErrorKind.PROTOCOL:
                cure = "An operation that does not wait step by step must not wait in a `scenario`."
            return None, self._wrong("in one message", f"A scenario was not answered: {error.reason}.", cure)
        self.batch_seconds += perf_counter() - started
        self._say("")
        self.batches += 1
        if waits:
            return None, self._wrong(
                "in one message", "An operation that waits step by step ended in a `scenario` without waiting.",
                "Answer it with `blocked` there, too; the suite then runs the scenario step by step.",
            )  # fmt: skip
        return [Happened(call, outcome) for call, outcome in zip(calls, outcomes, strict=True)], None

    # ---- the end -----------------------------------------------------------------------------------------------------
    def _release(self) -> Iterator[Examined]:
        for calls in self.scenarios:
            for part in (calls[: max(1, len(calls) // 2)], calls):
                ending: tuple[Call, ...] = (("release",), ("release",), ("resources",))
                history = self._perform((*part, *ending))
                if (one := self._ended_badly((*part, *ending), history)) is not None:
                    yield one
                    return
        yield self._well("release", "`release` may be called at any moment, and twice.")

    def _ended_badly(self, calls: Sequence[Call], history: Sequence[Happened]) -> Examined | None:
        releases = [one for one in history if one.call[0] == "release"]
        failed = next((one for one in releases if one.outcome.error is not None and not _struck(one.outcome)), None)
        after = f"after {len(calls) - 3} calls, the last of them {shown(calls[-4])}"
        if failed is not None:
            which = "A second `release`" if failed is not releases[0] else "`release`"
            return self._wrong(
                "release", f"{which} failed, {after}: {_outcome(failed.outcome)}.",
                "`release` must give everything back, at any moment; a second `release` must do nothing.",
            )  # fmt: skip
        outcome = next(one.outcome for one in reversed(history) if one.call[0] == "resources")
        if outcome.error is not None:
            return self._wrong(
                "release", f"`resources` failed after `release`, {after}: {_outcome(outcome)}.",
                "`resources` is allowed in every state, also after `release`.",
            )  # fmt: skip
        if Capability.RESOURCES in self._program.capabilities and isinstance(outcome.value, Resources):
            held = [f"{name} {count}" for name, count in asdict(outcome.value).items() if count]
            if held and not any(self._legally_held(calls, history)):
                return self._wrong(
                    "release", f"After `release`, `resources` still returns {', '.join(held)}, {after}.",
                    "Give everything back in `release`, and count only what is held now; or do not claim `resources`.",
                )  # fmt: skip
        return None

    def _legally_held(self, calls: Sequence[Call], history: Sequence[Happened]) -> list[int]:
        """Returns the counts of what may still be held after these calls: what the consumer took and did not return."""
        owed = self._owed(calls)
        if not _alike(history[:-1], owed):
            return [1]  # unknown: with other results, it may have given other buffers
        value = next(one.outcome.value for one in reversed(owed) if one.call[0] == "resources")
        return [count for count in asdict(value).values() if count]

    def _owed(self, calls: Sequence[Call]) -> list[Happened]:
        """Returns the outcomes of these calls on the reference."""
        return perform(self.component, generator_of(self._program).components()[self._name], calls)

    def _wrong(self, what: str, found: str, cure: str) -> Examined:
        return Examined(f"{self._name}: {what}", found, cure)

    def _well(self, what: str, found: str) -> Examined:
        return Examined(f"{self._name}: {what}", found)


_DOUBT = "Earlier results differed from those of the reference: only `conformance check` can judge this one."


def _until_the_end(history: list[Happened]) -> list[Happened]:
    """Returns the history up to the first crash or hang, where a run step by step ends too."""
    end = next((number for number, one in enumerate(history) if one.ended), len(history))
    return history[: end + 1]


def _is(kind: ErrorKind, happened: Happened) -> bool:
    return happened.outcome.error is not None and happened.outcome.error.kind is kind


def _alike(mine: Sequence[Happened], theirs: Sequence[Happened]) -> bool:
    """Returns whether the results to the calls that both have are the same. Signals and resources are not compared."""
    first, second = ([one for one in history if one.call[0] != "resources"] for history in (mine, theirs))
    return all(_value(one) == _value(other) for one, other in zip(first, second, strict=False))


def _value(happened: Happened) -> Any:
    value, _, failed, waits = told(happened.outcome)
    return happened.call, value, failed, waits


def _error(error: Any) -> tuple[ErrorKind, str, Any]:
    return error.kind, error.reason.rstrip(".") or f"an error of kind {error.kind}", error.checkpoint_reason


def _outcome(outcome: Outcome) -> str:
    if outcome.paused_at is not None:
        return "it waits"
    return shown(outcome) if outcome.error is None or outcome.error.kind not in ENDING else outcome.error.reason


def _has_ended(history: Sequence[Happened]) -> bool:
    """Returns whether a program ended at the last call."""
    error = history[-1].outcome.error
    return error is not None and error.kind is ErrorKind.CRASHED and error.reason.startswith(_ENDED)


def _cure_of_a_program(reason: str) -> str:
    """Returns what to do if a program has ended or broken the protocol; empty if this is about a result."""
    if reason.startswith(_GREETS):
        return "Greet with the same name, version, capabilities and components at each start."
    if reason.startswith(_ENDED):
        return (
            "The program must go on after each operation: with an outcome of kind crashed if the operation has thrown "
            "what it should not, and also if something throws later. Its log says why it ended."
        )
    if reason.startswith(_BROKE) or (reason.startswith("answered nonsense") and not reason.count(": Expected `")):
        return f"Correct the line that it writes: {_PAGE}. Nothing else may be written to stdout."
    return ""


def _type_name(type_: Any) -> str:
    if type_ is type(None):
        return "nothing"
    names = [getattr(one, "__name__", str(one)) for one in getattr(type_, "__args__", ()) if one is not type(None)]
    if getattr(type_, "__origin__", None) is tuple:
        return "a list of integers" if names[0] == "int" else "a list of lists of integers"
    if names:
        return f"{' or '.join(names) if len(names) < 4 else 'an element'} or null"
    return str(getattr(type_, "__name__", type_))


def _struck(outcome: Outcome) -> bool:
    """Whether a fault has struck the operation, which may fail then."""
    return any(type(signal) is FaultStruck for signal in outcome.signals)
