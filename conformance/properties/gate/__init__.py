"""What must be true of an input gate, as named sentences. recovery.md, sections 2.3, 2.9, 3.2 and 3.3."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability
from conformance.properties.base import Judgement, Kind, Level, Property, Seen, answers_property, thread_properties
from conformance.properties.gate import checks, goals
from conformance.properties.gate.ledger import GateLedger

_GATE = "gate"
_READBACK = frozenset({Capability.PERSISTED_READBACK})
_RESOURCES = frozenset({Capability.RESOURCES})
_STEPPING = frozenset({Capability.STEPPING})
_FIRST = frozenset({Capability.RECOVERS_FIRST})
_IN_MEMORY = frozenset({Capability.RECOVERS_IN_MEMORY})
_PUSHED = frozenset({Capability.RECOVERS_BY_PUSHING})
_POLL = ("poll",)
_STARTS = ("checkpoint_started",)
_ARRIVALS = (
    "data", "event", "aligned_barrier", "timeoutable_barrier", "unaligned_barrier", "completion", "end_of_data",
    "end_of_partition",
)  # fmt: skip
_MOVES = (
    *_ARRIVALS, "recover", "finish_recovery", "convert", "request", "poll", "resume", "end_of_output_state",
    "convert_to_priority",
)  # fmt: skip

_ALWAYS = (
    answers_property(_GATE),
    *thread_properties(_GATE),
    Property(
        "an-ended-channel-delivers-nothing-more",
        "Every element comes from a channel of the gate whose end was not polled before.",
        _GATE, _POLL, checks.comes_from_a_live_channel, invariant="I-23", tickets=("FLINK-21104", "FLINK-20145"),
    ),
    Property(
        "recovered-data-comes-before-live-data",
        "Live elements without priority are hidden until the recovered data of their channel was consumed.",
        _GATE, _POLL, checks.recovered_comes_first, invariant="I-09", tickets=("FLINK-39018", "FLINK-39521"),
    ),
    Property(
        "the-end-of-data-comes-before-the-end-of-a-partition",
        "The end of a partition comes once per channel, and the end of its data before it.",
        _GATE, _POLL, checks.ends_once, invariant="I-33",
    ),
    Property(
        "a-blocked-channel-delivers-priority-events-only",
        "Until its producer is resumed, a channel that took a blocking element delivers nothing without priority.",
        _GATE, _POLL, checks.blocked_channels_are_silent, invariant="I-15", tickets=("FLINK-39018",),
    ),
    Property(
        "elements-arrive-once-and-in-order-across-conversion",
        "What was sent into a channel, recovered and live, is polled once and in order, whatever the channel is.",
        _GATE, _POLL, checks.arrives_in_order, invariant="I-28", tickets=("FLINK-39018", "FLINK-17564"),
    ),
    Property(
        "priority-events-come-first",
        "A poll answers a priority event if any channel has one.",
        _GATE, _POLL, checks.priority_comes_first, invariant="I-30", tickets=("FLINK-19681",),
    ),
    Property(
        "channels-are-served-in-turn",
        "Of k channels that have something, each is served within k polls.",
        _GATE, _POLL, checks.served_in_turn, invariant="I-30",
    ),
    Property(
        "one-slow-channel-delays-no-other",
        "A channel that is blocked or still recovering delays neither the barriers nor the data of the others.",
        _GATE, _POLL, checks.answers_although_others_are_slow, invariant="I-97", tickets=("FLINK-39018",),
    ),
    Property(
        "a-poll-answers-what-is-there",
        "A poll during which nothing else happens answers an element if any channel has one.",
        _GATE, _POLL, checks.answers_what_is_there, invariant="I-32", tickets=("FLINK-20145", "FLINK-21104"),
    ),
    Property(
        "a-gate-is-finished-once-every-channel-has-ended",
        "The gate says that it is finished exactly if the ends of all channels were polled.",
        _GATE, ("finished",), checks.finished_is_true, invariant="I-33", tickets=("FLINK-28651",), quiet=True,
    ),
    Property(
        "a-gate-with-data-is-available",
        "The gate says that it is available if something can be polled, or if all has ended.",
        _GATE, ("available",), checks.availability_is_true, invariant="I-22", quiet=True,
    ),
    Property(
        "the-consumer-is-told-of-what-can-be-polled",
        "Whenever nothing is in progress and something can be polled, the consumer was told so.",
        _GATE, _MOVES, checks.nothing_waits_unannounced, kind=Kind.EVENTUALLY, invariant="I-22",
        tickets=("FLINK-39018", "FLINK-20145", "FLINK-20383"), quiet=True,
    ),
    Property(
        "no-conversion-loses-state",
        "Conversion is an error of kind state while a channel has state that its physical channel would not get.",
        _GATE, ("convert",), checks.no_state_is_lost, invariant="I-27", tickets=("FLINK-39018",),
    ),
    Property(
        "channels-convert-once-nothing-can-be-lost",
        "Conversion succeeds as soon as nothing can be lost, and again when it is over.",
        _GATE, ("convert",), checks.converts_when_it_can, invariant="I-26",
    ),
    Property(
        "partitions-are-requested-after-conversion",
        "Requesting partitions for channels that are not physical is an error of kind state.",
        _GATE, ("request_too_early",), checks.not_requested_before_conversion, invariant="I-24",
    ),
    Property(
        "the-output-state-of-a-channel-ends-once",
        "A second end of output state of one channel is an error of kind state.",
        _GATE, ("end_of_output_state", "end_of_output_state_again"), checks.completes_once, invariant="I-18",
    ),
    Property(
        "producers-go-on-once-all-output-state-has-ended",
        "The end of output state of the last channel resumes the producers of all; no earlier one resumes any.",
        _GATE, ("end_of_output_state",), checks.producers_go_on_together, invariant="I-17",
        tickets=("FLINK-38544",), after_learning=True,
    ),
    Property(
        "a-closed-gate-is-not-polled",
        "Polling a closed gate is an error of kind released.",
        _GATE, ("poll_after_release",), checks.released_is_not_read, invariant="I-24",
    ),
    Property(
        "a-push-after-release-is-recycled-silently",
        "What is recovered into a closed gate is recycled without an error.",
        _GATE, ("recover_after_release",), checks.recycles_after_release, invariant="I-94", tickets=("FLINK-39521",),
    ),
    Property(
        "an-announced-barrier-can-overtake",
        "The last announced barrier of a remote channel, while it is queued, can be made a priority event.",
        _GATE, ("convert_to_priority",), checks.converts_announced, invariant="I-48", tickets=("FLINK-19681",),
    ),
    Property(
        "only-a-queued-barrier-can-overtake",
        "Making an element that is no queued barrier a priority event is an error of kind state.",
        _GATE, ("convert_unknown_to_priority",), checks.only_the_last_barrier_is_converted, invariant="I-31",
        tickets=("FLINK-19681",),
    ),
    Property(
        "checkpoints-are-declined-until-channels-are-physical",
        "A checkpoint that starts before conversion is declined because the task is not ready.",
        _GATE, _STARTS, checks.declines_before_conversion, invariant="I-53", tickets=("FLINK-20654",),
    ),
    Property(
        "a-missing-recovery-barrier-declines-the-checkpoint",
        "A checkpoint whose start is not marked in the data of a channel in recovery is declined, and nothing else.",
        _GATE, _STARTS, checks.declines_without_mark, invariant="I-42", tickets=("FLINK-38544",), needs=_PUSHED,
    ),
    Property(
        "a-newer-barrier-subsumes-an-older-checkpoint",
        "A checkpoint that starts after a newer barrier was received is refused as subsumed.",
        _GATE, _STARTS, checks.is_subsumed, invariant="I-37", tickets=("FLINK-21104", "FLINK-20097"),
    ),
    Property(
        "a-checkpoint-starts-if-nothing-speaks-against-it",
        "A checkpoint starts in every physical channel that knows of no newer barrier.",
        _GATE, _STARTS, checks.starts_where_it_can, invariant="I-54", tickets=("FLINK-39018",),
    ),
    Property(
        "data-in-front-of-a-barrier-is-written-once",
        "The input state of a checkpoint is, per channel, exactly the data in front of its barrier that was not polled "
        "when it started: once and in order.",
        _GATE, ("persisted",), checks.written_once, invariant="I-34",
        tickets=("FLINK-40016", "FLINK-17315", "FLINK-18139", "FLINK-20097"), needs=_READBACK, quiet=True,
    ),
    Property(
        "buffers-in-use-count-what-waits",
        "The buffers in use of a channel are those that wait in it, recovered ones included.",
        _GATE, ("in_use",), checks.counts_what_waits, invariant="I-21", tickets=("FLINK-39018",), needs=_RESOURCES,
        quiet=True,
    ),
    Property(
        "a-released-gate-holds-nothing",
        "After release, and after the end of all channels, no segment, listener or future is left.",
        _GATE, ("resources",), checks.releases_all, invariant="I-93", needs=_RESOURCES, quiet=True,
    ),
)  # fmt: skip


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[GateLedger, Seen], Judgement],
          needs: frozenset[Capability] = frozenset()) -> Property:  # fmt: skip
    return Property(slug, statement, _GATE, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=needs)


_SOMETIMES = (
    _goal("converted-with-several-buffers-queued", "A conversion handed over several buffers of a channel.",
          ("convert",), goals.converted_with_buffers, _IN_MEMORY),
    _goal("converted-during-a-push", "A push was in progress when a conversion began.", ("convert",),
          goals.converted_during_push, _STEPPING),
    _goal("converted-a-second-time", "A gate was converted that had been before.", ("convert_again",), goals.always),
    _goal("a-conversion-was-refused", "A conversion would have lost state.", ("convert",), goals.conversion_refused),
    _goal("an-empty-poll-was-harmless", "A poll answered nothing.", _POLL, goals.empty_poll),
    _goal("a-priority-notification-came-late", "A barrier was polled before its notification came.", _POLL,
          goals.notification_came_late, _STEPPING),
    _goal("an-announced-barrier-was-forced-ahead", "An announced barrier overtook, and the gate was told by force.",
          ("convert_to_priority",), goals.forced),
    _goal("a-barrier-passed-a-blocked-producer", "A barrier came through a local channel that was blocked.", _POLL,
          goals.passed_blocked, frozenset({Capability.BLOCKED_PRIORITY_LOCAL})),
    _goal("a-barrier-overtook-recovered-data", "A barrier came before recovered data of its channel.", _POLL,
          goals.overtook_recovered, _IN_MEMORY),
    _goal("live-data-waited-behind-recovered-data", "Recovered data was polled while live data was queued.", _POLL,
          goals.live_waited, _IN_MEMORY),
    _goal("a-checkpoint-started-during-recovery", "A checkpoint started while recovered data was queued.", _STARTS,
          goals.started_in_recovery, _IN_MEMORY),
    _goal("data-arrived-while-a-checkpoint-started", "An arrival was in progress when a checkpoint started.", _STARTS,
          goals.arrived_meanwhile, _STEPPING),
    _goal("a-recovery-barrier-was-missing", "A checkpoint was declined for want of a recovery barrier.", _STARTS,
          goals.mark_missing, _PUSHED),
    _goal("a-checkpoint-was-subsumed", "A newer barrier was there when a checkpoint started.", _STARTS, goals.subsumed),
    _goal("a-checkpoint-was-declined-before-conversion", "A checkpoint started too early.", _STARTS, goals.declined),
    _goal("a-checkpoint-was-stopped-late", "A checkpoint was stopped after a newer one had started.",
          ("checkpoint_stopped",), goals.stopped_late),
    _goal("input-state-was-written", "A checkpoint had input state.", ("persisted",), goals.written_some, _READBACK),
    _goal("recovered-data-was-written-again", "A checkpoint had recovered data in its input state.", ("persisted",),
          goals.written_live_and_recovered, _READBACK | _IN_MEMORY),
    _goal("the-last-channel-of-several-ended", "All channels of a gate ended.", ("finished",), goals.last_ended),
    _goal("released-while-recovering", "Released before conversion.", ("release", "fail"), goals.released_recovering),
    _goal("released-between-conversion-and-request", "Released after conversion, before partitions were requested.",
          ("release", "fail"), goals.released_converted, _FIRST),
    _goal("released-while-live", "Released in the middle of its work.", ("release", "fail"), goals.released_live),
    _goal("released-while-blocked", "Released with a blocked producer.", ("release", "fail"), goals.released_blocked),
    _goal("released-during-a-checkpoint", "Released while a checkpoint was in progress.", ("release", "fail"),
          goals.released_checkpointing),
    _goal("released-after-it-was-finished", "Released after the end of all channels.", ("release", "fail"),
          goals.released_finished),
    _goal("released-during-other-operations", "A release was over while other operations were in progress.",
          ("release",), goals.released_with_operations, _STEPPING),
    _goal("a-fresh-gate-took-over", "A fresh gate took the place of one that had failed.", ("restore",), goals.always),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = _ALWAYS + _SOMETIMES

__all__ = ["PROPERTIES", "GateLedger"]
