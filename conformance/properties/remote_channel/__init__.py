"""What must be true of a remote channel, as named sentences. recovery.md, sections 2.5, 2.6, 3.2 and 3.3."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability, CheckpointReason, Data
from conformance.properties.base import Judgement, Kind, Level, Property, Seen, answers_property, thread_properties
from conformance.properties.remote_channel import checks
from conformance.properties.remote_channel.ledger import RemoteChannelLedger

_REMOTE = "remote-channel"
_READBACK = frozenset({Capability.PERSISTED_READBACK})
_RESOURCES = frozenset({Capability.RESOURCES})
_STEPPING = frozenset({Capability.STEPPING})
_PUSHED = frozenset({Capability.RECOVERS_BY_PUSHING})
_TAKE = ("take",)
_START = ("checkpoint_started",)
_MOVES = (
    "data", "event", "aligned_barrier", "timeoutable_barrier", "unaligned_barrier", "completion", "end_of_partition",
    "push_recovered", "finish_recovered", "request", "take", "convert_to_priority",
)  # fmt: skip

_ALWAYS = (
    answers_property(_REMOTE),
    *thread_properties(_REMOTE),
    Property(
        "live-data-is-hidden-until-recovered-data-is-consumed",
        "Nothing live without priority is handed out before the recovered data of the channel was consumed.",
        _REMOTE, _TAKE, checks.hides_live_data, invariant="I-09", tickets=("FLINK-39521",), needs=_PUSHED,
    ),
    Property(
        "events-of-a-recovering-channel-are-kept-and-replayed",
        "Ordinary events that come during recovery are handed out after it, in the order in which they came.",
        _REMOTE, _TAKE, checks.keeps_stashed_events, invariant="I-95", tickets=("FLINK-39521",), needs=_PUSHED,
    ),
    Property(
        "priority-events-come-first",
        "A take answers a priority event if the channel has one.",
        _REMOTE, _TAKE, checks.priority_comes_first, invariant="I-30",
    ),
    Property(
        "elements-arrive-once-and-in-order",
        "What was received is handed out once and in order, priority events first.",
        _REMOTE, _TAKE, checks.arrives_in_order, invariant="I-02", tickets=("FLINK-17564",),
    ),
    Property(
        "elements-keep-their-sequence-numbers",
        "A live element is handed out with the sequence number with which it came.",
        _REMOTE, _TAKE, checks.keeps_sequence_numbers, invariant="I-19",
    ),
    Property(
        "a-take-answers-what-is-there",
        "A take during which nothing else happens answers an element if there is one.",
        _REMOTE, _TAKE, checks.answers_what_is_there, invariant="I-32",
    ),
    Property(
        "the-gate-is-told-of-what-can-be-taken",
        "Whenever nothing is in progress and something can be taken, the gate was told so.",
        _REMOTE, _MOVES, checks.nothing_waits_unannounced, kind=Kind.EVENTUALLY, invariant="I-22",
        tickets=("FLINK-20145",), quiet=True,
    ),
    Property(
        "a-reordered-element-is-refused",
        "An element that does not carry the next sequence number is an error of kind reordering.",
        _REMOTE, ("receive_out_of_order",), checks.refuses_reordering, invariant="I-19",
    ),
    Property(
        "no-data-comes-during-recovery",
        "Live data while the channel is in recovery is an error of kind protocol.",
        _REMOTE, ("data_in_recovery",), checks.refuses_data_in_recovery, invariant="I-95", tickets=("FLINK-39521",),
        needs=_PUSHED,
    ),
    Property(
        "a-blocked-producer-has-no-backlog",
        "An element that blocks the producer and comes with a backlog is an error of kind argument.",
        _REMOTE, ("blocked_with_backlog",), checks.refuses_backlog_of_blocked, invariant="I-95",
    ),
    Property(
        "credit-is-what-is-set-aside",
        "The credit announced, less the data received, is the number of buffers set aside for live data.",
        _REMOTE, ("free_for_live",), checks.credit_is_what_is_free, invariant="I-96", needs=_RESOURCES, quiet=True,
    ),
    Property(
        "credit-is-covered-by-buffers",
        "A channel does not hold more buffers, in use and announced, than it has of its own and the pool can lend.",
        _REMOTE, ("free_for_live",), checks.credit_is_covered, invariant="I-96", needs=_RESOURCES, quiet=True,
    ),
    Property(
        "no-credit-is-announced-during-recovery",
        "Buffers are announced to the producer once the recovery is over, not before.",
        _REMOTE, ("free_for_live",), checks.no_credit_in_recovery, invariant="I-96", tickets=("FLINK-39521",),
        needs=_PUSHED, quiet=True,
    ),
    Property(
        "a-backlog-gets-the-buffers-that-come-back",
        "A channel gets the floating buffers that a backlog asks for, as soon as they are free, until it has enough.",
        _REMOTE, ("recycle", "free_for_live"), checks.backlog_is_served, kind=Kind.EVENTUALLY, invariant="I-96",
        tickets=("FLINK-23466",), needs=_RESOURCES, quiet=True,
    ),
    Property(
        "a-push-waits-until-the-upstream-is-there",
        "Recovered data is pushed once the producer has sent something: the consumer that it wakes finds a connection.",
        _REMOTE, ("push_recovered", "finish_recovered"), checks.waits_for_the_upstream, invariant="I-92",
        tickets=("FLINK-40668",), needs=_PUSHED,
    ),
    Property(
        "a-push-after-release-is-recycled-silently",
        "What is pushed into a released channel is recycled without an error.",
        _REMOTE, ("push_after_release",), checks.recycles_after_release, invariant="I-94", tickets=("FLINK-39521",),
        needs=_PUSHED,
    ),
    Property(
        "a-push-after-the-end-is-refused",
        "A push after the end of recovered data is an error of kind state.",
        _REMOTE, ("push_after_end",), checks.refuses_after_the_end, invariant="I-94", tickets=("FLINK-39521",),
        needs=_PUSHED,
    ),
    Property(
        "only-a-channel-in-recovery-is-marked",
        "A recovery barrier is inserted exactly if the channel will look for it: while it is in recovery.",
        _REMOTE, ("insert_recovery_barrier",), checks.marks_in_recovery_only, invariant="I-41", needs=_PUSHED,
    ),
    Property(
        "a-channel-is-in-recovery-until-the-end-was-taken",
        "The channel says that it is in recovery until the end of recovered data was taken.",
        _REMOTE, ("in_recovery",), checks.recovery_is_true, invariant="I-41", quiet=True,
    ),
    Property(
        "a-newer-barrier-subsumes-an-older-checkpoint",
        "A checkpoint that starts after a newer barrier was received is refused as subsumed.",
        _REMOTE, _START, checks.is_subsumed, invariant="I-37", tickets=("FLINK-21104", "FLINK-20097"),
    ),
    Property(
        "a-missing-recovery-barrier-declines-the-checkpoint",
        "A checkpoint whose start is not marked in the data of a channel in recovery is declined, and nothing else.",
        _REMOTE, _START, checks.is_declined, invariant="I-42", tickets=("FLINK-38544",), needs=_PUSHED,
    ),
    Property(
        "a-checkpoint-starts-if-nothing-speaks-against-it",
        "A checkpoint starts unless a newer barrier is known or its mark is missing.",
        _REMOTE, _START, checks.starts_where_it_can, invariant="I-54",
    ),
    Property(
        "data-in-front-of-a-barrier-is-written-once",
        "The input state of a checkpoint is exactly the data in front of its barrier that was not taken when it "
        "started: once and in order, whatever arrives meanwhile.",
        _REMOTE, ("persisted",), checks.written_once, invariant="I-35",
        tickets=("FLINK-38544", "FLINK-40016", "FLINK-20097"), needs=_READBACK, quiet=True,
    ),
    Property(
        "a-converted-barrier-is-announced-by-force",
        "The gate is told of an announced barrier that overtakes, even if it was told of the announcement before.",
        _REMOTE, ("convert_to_priority",), checks.is_forced, invariant="I-31", tickets=("FLINK-19681",),
    ),
    Property(
        "only-the-last-barrier-can-overtake",
        "Making anything but the last barrier of the channel a priority event is an error of kind state.",
        _REMOTE, ("convert_unknown_to_priority",), checks.only_the_last_barrier_overtakes, invariant="I-31",
        tickets=("FLINK-19681",),
    ),
    Property(
        "the-producer-is-told-to-go-on",
        "Resuming consumption sends word to the producer.",
        _REMOTE, ("resume",), checks.resumes_the_producer, invariant="I-17", tickets=("FLINK-23223",),
    ),
    Property(
        "buffers-in-use-count-what-waits",
        "The buffers in use are the data buffers that wait, recovered ones included.",
        _REMOTE, ("in_use",), checks.counts_what_waits, invariant="I-21", tickets=("FLINK-39018",), needs=_RESOURCES,
        quiet=True,
    ),
    Property(
        "a-released-channel-holds-nothing",
        "After release nothing is held but the buffers in the hands of the task.",
        _REMOTE, ("resources",), checks.releases_all, invariant="I-93", needs=_RESOURCES, quiet=True,
    ),
)  # fmt: skip


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[RemoteChannelLedger, Seen], Judgement],
          needs: frozenset[Capability] = frozenset()) -> Property:  # fmt: skip
    return Property(slug, statement, _REMOTE, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=needs)


def _reason(reason: CheckpointReason) -> Callable[[RemoteChannelLedger, Seen], Judgement]:
    return lambda ledger, seen: seen.error is not None and seen.error.checkpoint_reason is reason


_SOMETIMES = (
    _goal("credit-ran-out-with-a-backlog", "The last credit was used, and the producer had more.", ("data",),
          lambda ledger, seen: ledger.credit <= 0 and seen.operands[0] > 0),
    _goal("a-floating-buffer-was-announced", "A backlog led to more credit.", ("data",),
          lambda ledger, seen: seen.operands[0] > 0 and bool(seen.signals) and ledger.credit >= 0),
    _goal("an-event-was-stashed", "An ordinary event came during recovery.", ("event",),
          lambda ledger, seen: not ledger.consumed, _PUSHED),
    _goal("a-stashed-event-was-replayed", "An event that had come during recovery was taken.", _TAKE,
          lambda ledger, seen: (seen.value is not None and not ledger.recovered and bool(ledger.queue)
                                and ledger.queue[0].stashed and ledger.consumed), _PUSHED),
    _goal("a-recovery-barrier-was-missing", "A checkpoint was declined for want of a recovery barrier.", _START,
          _reason(CheckpointReason.DECLINED), _PUSHED),
    _goal("a-checkpoint-was-subsumed", "A newer barrier was there when a checkpoint started.", _START,
          _reason(CheckpointReason.SUBSUMED)),
    _goal("a-checkpoint-started-with-recovered-data", "A checkpoint started while recovered data was queued.", _START,
          lambda ledger, seen: seen.error is None and len(ledger.recovered) > 0, _PUSHED),
    _goal("an-element-arrived-while-a-checkpoint-started", "An arrival was in progress when a checkpoint started.",
          _START, lambda ledger, seen: ledger.sending, _STEPPING),
    _goal("an-older-checkpoint-was-stopped-late", "A checkpoint was stopped while a newer one was pending.",
          ("checkpoint_stopped",), lambda ledger, seen: ledger.pending > seen.operands[0]),
    _goal("an-announced-barrier-overtook-data", "An announced barrier was made a priority event behind data.",
          ("convert_to_priority",), lambda ledger, seen: any(type(sent.element) is Data for sent in ledger.queue)),
    _goal("a-pusher-waited-for-the-upstream", "Recovered data was pushed before the producer had sent anything.",
          ("push_recovered",), lambda ledger, seen: not ledger.ready_upstream, _PUSHED),
    _goal("released-during-recovery", "Released before the recovered data was consumed.", ("release", "fail"),
          lambda ledger, seen: not ledger.consumed and not ledger.released, _PUSHED),
    _goal("released-with-a-pending-checkpoint", "Released while a barrier was awaited.", ("release", "fail"),
          lambda ledger, seen: ledger.pending > 0 and not ledger.released),
    _goal("released-while-blocked", "Released while the producer was blocked.", ("release", "fail"),
          lambda ledger, seen: ledger.blocked and not ledger.released),
    _goal("released-during-other-operations", "A release was over while others were in progress.", ("release",),
          lambda ledger, seen: ledger.flying > 1, _STEPPING),
    _goal("a-fresh-channel-took-over", "A fresh channel took the place of one that had failed.", ("restore",),
          lambda ledger, seen: True),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = _ALWAYS + _SOMETIMES

__all__ = ["PROPERTIES", "RemoteChannelLedger"]
