"""The steps of a job: the world around it, the user, what fails, which thread works next, and what is observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance import ports
from conformance.components.pipeline.graph import HOW
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import DISABLED, NO_OPERANDS, Steps, always
from conformance.models.answers import whether
from conformance.models.designs import recovers
from conformance.models.faults import fault_step
from conformance.models.job_words import checkpoint_in_words, runs_in_words, states_in_words, triggered_in_words
from conformance.models.lifetime import alive, fail_step, resources_step
from conformance.ports import Answer, Capability, CheckpointKind, PipelinePort, Recovery, Until

LIVE, OVER, DEPLOYED, FAILED = ("live",), ("over",), ("live", "over"), ("failed",)
ALWAYS = (*DEPLOYED, *FAILED)
MOST_RECORDS = 60
"""A scenario supplies records of a split until there are so many."""
MOST_CHECKPOINTS = 40

STEPS = Steps[PipelinePort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def supplied(ledger: Ledger, most: int = MOST_RECORDS) -> Sequence[tuple[int, int]]:
    """The splits of sources that have not ended, with so many further records. `most`: a split gets more only until it
    has so many."""
    return [
        (split, portion)
        for vertex in ledger.graph.sources
        if vertex not in ledger.ended
        for split in ledger.config.splits_of(vertex)
        if ledger.supplied[split] < most
        for portion in ledger.scenario.portions
    ]


def endable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The sources that have not ended."""
    return [(vertex,) for vertex in ledger.graph.sources if vertex not in ledger.ended]


def throttled(ledger: Ledger) -> Sequence[tuple[int, bool]]:
    """Every task, to stand still or to go on."""
    return [(task, task not in ledger.throttled) for task in range(len(ledger.graph.tasks))]


def kinds(ledger: Ledger) -> Sequence[tuple[str]]:
    """The kinds of checkpoints that are enabled; now and then those that are not."""
    if ledger.checkpoints.newest >= MOST_CHECKPOINTS and not ledger.closing:
        return DISABLED
    return _KINDS if ledger.config.settings.unaligned else _ALIGNED_KINDS


_ALIGNED = (CheckpointKind.ALIGNED.value,)
_KINDS = [*[(kind.value,) for kind in CheckpointKind], *[(CheckpointKind.UNALIGNED.value,)] * 2]
_ALIGNED_KINDS = [_ALIGNED, _ALIGNED, (CheckpointKind.SAVEPOINT.value,), (CheckpointKind.UNALIGNED.value,)]


def failing(ledger: Ledger) -> Sequence[tuple[str, int, str]]:
    """Each task, each worker, the job master and the job, now or at each point."""
    targets = ports.FailureTarget
    counts = {targets.TASK.value: len(ledger.graph.tasks), targets.WORKER.value: ledger.config.settings.workers}
    return [
        (target, number, point) for target in _TARGETS for number in range(counts.get(target, 1)) for point in _POINTS
    ]


_TARGETS = [one.value for one in ports.FailureTarget]
_POINTS = [one.value for one in ports.FailurePoint]


def stoppable(ledger: Ledger) -> Sequence[tuple[()]]:
    """The job is not being stopped yet."""
    return DISABLED if ledger.stopping or ledger.stopped or ledger.cancelled else NO_OPERANDS


def waits(ledger: Ledger) -> Sequence[tuple[str]]:
    """What can be waited for."""
    ends = ledger.cancelled or ledger.stopping or ledger.stopped or ledger.has_all_ended()
    return _UNTIL if ends else _UNTIL[:-1]


_UNTIL = [(one.value,) for one in (Until.NO_CHECKPOINT, Until.RUNNING, Until.IDLE, Until.OVER)]


def able(ledger: Ledger) -> Sequence[tuple[str]]:
    """The threads that may have something to do."""
    return ledger.threads.drawn() if ledger.threads.steps else DISABLED


def neighbours(ledger: Ledger, draw: Callable[[], float]) -> Sequence[tuple[str]]:
    """The threads of a task, and some of those in front of it and behind it: twelve at most."""
    graph, vertices = ledger.graph, ledger.config.vertices
    vertex, subtask = graph.tasks[int(draw() * len(graph.tasks))]
    of = f"{vertex}/{subtask}"
    names = ["master", f"task {of}", f"restore {of}", f"to {of}", f"from {of}", f"enumerator {vertex}"]
    names.append(f"writer {subtask % ledger.config.settings.workers}/0")
    for number, edge in enumerate(graph.edges):
        if edge.consumer == vertex and len(names) < 10:
            other = int(draw() * vertices[edge.producer].parallelism)
            names += [
                f"task {edge.producer}/{other}",
                f"link {number}/{other}/{subtask}",
                f"to {edge.producer}/{other}",
            ]
        elif edge.producer == vertex and len(names) < 11:
            other = int(draw() * vertices[edge.consumer].parallelism)
            names += [f"task {edge.consumer}/{other}", f"link {number}/{subtask}/{other}"]
    return [(name,) for name in names]


def carrying(ledger: Ledger) -> Sequence[tuple[str]]:
    """The threads that may have a message on its way."""
    return [one for one in ledger.threads.awake if one[0].startswith(("to ", "from "))]


def passing(ledger: Ledger) -> Sequence[tuple[int]]:
    """So much time that alignments time out, or checkpoints expire."""
    settings = ledger.config.settings
    times = [(max(1, settings.alignment_timeout),), (settings.checkpoint_timeout,)]
    return times if ledger.threads.steps else DISABLED


def _reads_back(ledger: Ledger) -> bool:
    return Capability.CHECKPOINT_READBACK in ledger.capabilities


def readable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints and, more often, the completed ones that were not read."""
    return [(number,) for number in (*ledger.checkpoints.unread() * 4, *list(ledger.checkpoints.known)[-2:])]


def with_state(ledger: Ledger) -> Sequence[tuple[int]]:
    """All vertices, if their state can be read back."""
    return [(vertex,) for vertex in range(len(ledger.config.vertices))] if _reads_back(ledger) else DISABLED


def with_output(ledger: Ledger) -> Sequence[tuple[int]]:
    """All sinks."""
    return [(sink,) for sink in ledger.graph.sinks]


def killable(ledger: Ledger) -> Sequence[tuple[()]]:
    """At any moment, but in two jobs of three only once a checkpoint has completed."""
    spared = ledger.generation % 3 and not ledger.checkpoints.saved and not ledger.closing
    return DISABLED if spared and ledger.phase == "live" else NO_OPERANDS


def restorable(ledger: Ledger) -> Sequence[tuple[int, str, str, bool]]:
    """The last checkpoints, each with other parallelisms and designs; now and then none."""
    known = ledger.checkpoints.known
    completed = [one for one in known.values() if one.is_completed and not one.ended]
    reads_back = _reads_back(ledger)
    read = [one.number for one in completed if (one.contents.can_be_restored if one.contents else reads_back)]
    older = [at for at, one in ledger.checkpoints.saved.items() if at not in known and one.can_be_restored]
    here = [*older[-1:], *read[-3:]]
    numbers = here if here and ledger.generation % 4 else [*here, 0]
    designs = [one for one in Recovery if one is not Recovery.NONE and recovers(one) <= ledger.capabilities]
    sides = (True, False) if Capability.OUTPUT_RECOVERED_UPSTREAM in ledger.capabilities else (True,)
    return [(one, how, design.value, side) for one in numbers for how in HOW for design in designs for side in sides]


# ---- the world around the job ----------------------------------------------------------------------------------------
@step("world", LIVE, when=supplied, begin=Ledger.supply, weight=16)
def supply(port: PipelinePort, ledger: Ledger, split: int, count: int) -> Answer[None]:
    return port.supply(split, count)


@step("world", LIVE, when=endable, begin=Ledger.end_source, weight=1)
def end(port: PipelinePort, ledger: Ledger, source: int) -> Answer[None]:
    return port.end(source)


@step("operators", LIVE, when=throttled, begin=Ledger.throttle, weight=8)
def throttle(port: PipelinePort, ledger: Ledger, task: int, on: bool) -> Answer[None]:
    return port.throttle(task, on)


@step("user", LIVE, when=kinds, begin=Ledger.act, learn=Ledger.triggered, weight=14, in_words=triggered_in_words)
def trigger(port: PipelinePort, ledger: Ledger, kind: str) -> Answer[ports.Triggered]:
    return port.trigger(CheckpointKind(kind))


@step("user", LIVE, when=stoppable, begin=Ledger.ask_to_stop, learn=Ledger.stop_triggered, weight=1,
      in_words=triggered_in_words)  # fmt: skip
def stop_with_savepoint(port: PipelinePort, ledger: Ledger) -> Answer[ports.Triggered]:
    return port.stop_with_savepoint()


@step("user", LIVE, when=always, begin=Ledger.cancel, weight=1)
def cancel(port: PipelinePort, ledger: Ledger) -> Answer[None]:
    return port.cancel()


trigger_after_the_end = trigger.also(
    "job over", OVER, when=lambda ledger: [_ALIGNED] * len(alive(ledger)), begin=Ledger.act_afterwards,
    learn=Ledger.triggered, weight=2,
)  # fmt: skip


# ---- what fails ------------------------------------------------------------------------------------------------------
@step("driver", LIVE, when=failing, begin=Ledger.act, learn=Ledger.made_to_fail, weight=3,
      in_words=whether("it has failed, or waits for the point", "there is nothing that can fail"))  # fmt: skip
def fail(port: PipelinePort, ledger: Ledger, target: str, number: int, point: str) -> Answer[bool]:
    return port.fail(ports.FailureTarget(target), number, ports.FailurePoint(point))


@step("network", LIVE, when=carrying, begin=Ledger.act, learn=Ledger.lost, weight=1,
      in_words=whether("a message is lost", "there was no message"))  # fmt: skip
def lose(port: PipelinePort, ledger: Ledger, thread: str) -> Answer[bool]:
    return port.lose(thread)


fault = fault_step(STEPS, LIVE, weight=4)


# ---- the threads -----------------------------------------------------------------------------------------------------
_TURNS: Mapping[ports.Turn, str] = {
    ports.Turn.ACTED: "has done something",
    ports.Turn.WAITS: "has nothing to do",
    ports.Turn.OVER: "the job is over",
}


@step("threads", LIVE, when=able, learn=Ledger.worked, weight=220, in_words=_TURNS.__getitem__)
def work(port: PipelinePort, ledger: Ledger, thread: str) -> Answer[ports.Turn]:
    return port.work(thread)


def anybody(ledger: Ledger) -> Sequence[tuple[str]]:
    """The job master, a few times, although the job is over."""
    return [("master",)] * len(alive(ledger)) if ledger.threads.steps else DISABLED


work_after_the_end = work.also(
    "job over", OVER, when=anybody, begin=Ledger.act_afterwards, learn=Ledger.worked, weight=4
)  # fmt: skip


@step("threads", LIVE, when=waits, begin=Ledger.act, learn=Ledger.settled, weight=4,
      in_words=whether("that has happened", "that cannot happen"))  # fmt: skip
def settle(port: PipelinePort, ledger: Ledger, until: str) -> Answer[bool]:
    return port.settle(Until(until))


@step("clock", LIVE, when=passing, begin=Ledger.advance, weight=2)
def advance(port: PipelinePort, ledger: Ledger, milliseconds: int) -> Answer[None]:
    return port.advance(milliseconds)


# ---- what is observed ------------------------------------------------------------------------------------------------
@step("observer", ALWAYS, when=readable, learn=Ledger.snapped, weight=8, in_words=checkpoint_in_words)
def snapshot(port: PipelinePort, ledger: Ledger, checkpoint: int) -> Answer[ports.JobCheckpoint | None]:
    return port.snapshot(checkpoint)


@step("observer", DEPLOYED, when=with_state, weight=2, in_words=states_in_words)
def state(port: PipelinePort, ledger: Ledger, vertex: int) -> Answer[tuple[ports.OperatorState, ...]]:
    return port.state(vertex)


@step("observer", DEPLOYED, when=with_output, weight=2, in_words=runs_in_words)
def output(port: PipelinePort, ledger: Ledger, sink: int) -> Answer[ports.Runs]:
    return port.output(sink)


@step("observer", LIVE, when=lambda ledger: NO_OPERANDS if ledger.threads.steps else DISABLED, weight=1,
      in_words=lambda names: f"threads {', '.join(filter(None, names))}" if names else "no thread")  # fmt: skip
def threads(port: PipelinePort, ledger: Ledger) -> Answer[tuple[str, ...]]:
    return port.threads()


resources = resources_step(STEPS, ALWAYS, weight=1)


# ---- the life of the port --------------------------------------------------------------------------------------------
kill = fail_step(STEPS, DEPLOYED, when=killable, weight=2, name="kill")


@step("driver", FAILED, when=restorable, learn=Ledger.restore, weight=16, fresh_port=True,
      in_words=checkpoint_in_words)  # fmt: skip
def restore(
    port: PipelinePort, ledger: Ledger, checkpoint: int, parallelism: str, recovery: str, output_on_downstream: bool
) -> Answer[ports.JobCheckpoint | None]:
    saved = ledger.checkpoints.saved.get(checkpoint)
    return saved.checkpoint if saved is not None else port.snapshot(checkpoint) if checkpoint else None


ACTS = (work, settle)
"""The steps in which the job may get further."""
HEARS = (*ACTS, supply, end, throttle, trigger, stop_with_savepoint, cancel, fail, lose, advance)
"""The steps in which the job may say something."""
