"""What must be true of a local channel, as named sentences. recovery.md, sections 2.7, 3.1 to 3.3."""

from __future__ import annotations

from dataclasses import replace

from conformance.ports import Capability
from conformance.properties.base import ONE_ORDER, Kind, Property, answers_property, thread_properties
from conformance.properties.local_channel import checkpoints, checks
from conformance.properties.local_channel.ledger import LocalChannelLedger
from conformance.properties.local_channel.situations import SITUATIONS

_COMPONENT = "local-channel"
_ADDS = (
    "add", "add_event", "aligned_barrier", "timeoutable_barrier", "unaligned_barrier", "end_of_output_state",
    "end_of_partition",
)  # fmt: skip
_PUSHES = ("push_recovered", "finish_recovered")
_STATE = ("persisted", "restore")
_READBACK = frozenset({Capability.PERSISTED_READBACK})
_RESOURCES = frozenset({Capability.RESOURCES})
_IN_MEMORY = frozenset({Capability.RECOVERS_IN_MEMORY})
_PUSHED = frozenset({Capability.RECOVERS_BY_PUSHING})
_PASSES = frozenset({Capability.BLOCKED_PRIORITY_LOCAL})

_IN_AND_OUT = (
    Property(
        "a-consumer-who-was-told-may-take",
        "A take is never an error: nobody is sent to a channel whose subpartition was not asked for.",
        _COMPONENT, ("take",), checks.take_is_no_error, invariant="I-92", tickets=("FLINK-40668",),
    ),
    Property(
        "live-data-waits-behind-recovered-data",
        "No live element but a priority event is handed out before all recovered data and its end were taken.",
        _COMPONENT, ("take",), checks.live_waits_behind_recovered, invariant="I-09", tickets=("FLINK-39018",),
        needs=_IN_MEMORY,
    ),
    Property(
        "priority-events-pass-recovered-data",
        "A priority event that was announced comes before recovered data that waits.",
        _COMPONENT, ("take",), checks.priority_passes_recovered, invariant="I-13",
        tickets=("FLINK-39018", "FLINK-40521"), needs=_IN_MEMORY,
    ),
    Property(
        "priority-events-come-first",
        "A priority event comes before everything that has no priority.",
        _COMPONENT, ("take",), checks.priority_comes_first, invariant="I-07", tickets=("FLINK-18136",),
    ),
    Property(
        "a-blocked-channel-hands-out-priority-events",
        "A priority event is handed out although the producer is blocked.",
        _COMPONENT, ("take",), checks.priority_leaves_while_blocked, invariant="I-13", tickets=("FLINK-39018",),
        needs=_PASSES,
    ),
    Property(
        "only-priority-events-leave-a-blocked-channel",
        "Until the consumer resumes it, a blocked channel hands out nothing but priority events.",
        _COMPONENT, ("take",), checks.only_priority_leaves_while_blocked, invariant="I-15", tickets=("FLINK-39018",),
    ),
    Property(
        "copies-for-a-checkpoint-leave-the-consumer-its-buffers",
        "What was copied for a checkpoint still reaches the consumer, unchanged.",
        _COMPONENT, ("take",), checks.keeps_what_was_copied, invariant="I-44", tickets=("FLINK-40667", "FLINK-20654"),
        needs=_READBACK | _IN_MEMORY,
    ),
    Property(
        "elements-arrive-once-in-order-and-unchanged",
        "What was handed over, pushed and added reaches the consumer once, unchanged, each in its order, "
        "and recovery barriers never do.",
        _COMPONENT, ("take",), checks.arrives_in_order, invariant="I-43", tickets=("FLINK-17564",),
    ),
    Property(
        "the-end-of-recovered-data-is-told-once",
        "Taking the end of recovered data answers nothing and tells, once, that all of it is consumed.",
        _COMPONENT, ("take",), checks.end_is_told_once, invariant="I-09", needs=_PUSHED,
    ),
    Property(
        "a-take-answers-what-is-there",
        "A take answers an element if one can be handed out.",
        _COMPONENT, ("take",), checks.hands_out_what_is_there, invariant="I-16",
    ),
    Property(
        "sequence-numbers-have-no-gaps",
        "Live elements are numbered 0, 1, 2, and so on, priority elements included; recovered ones are numbered apart.",
        _COMPONENT, ("take",), checks.numbers_without_gaps, invariant="I-19",
    ),
    Property(
        "a-priority-event-carries-the-number-announced",
        "A priority event is announced with the sequence number that it carries.",
        _COMPONENT, ("take",), checks.announced_number_is_carried, invariant="I-31", tickets=("FLINK-19681",),
    ),
    Property(
        "what-is-added-is-accepted",
        "A living channel accepts what its producer adds.",
        _COMPONENT, _ADDS, checks.accepts_until_the_end, invariant="I-33",
    ),
    Property(
        "nothing-is-accepted-after-the-end",
        "What is added after the end of the partition, or after release, is rejected.",
        _COMPONENT, ("add_after_end",), checks.accepts_nothing_after_the_end, invariant="I-33",
    ),
    Property(
        "a-push-waits-until-the-upstream-is-there",
        "Recovered data is queued only when the subpartition was asked for: its consumer will look there too.",
        _COMPONENT, _PUSHES, checks.waits_for_the_upstream, invariant="I-92", tickets=("FLINK-40668",), needs=_PUSHED,
    ),
    Property(
        "recovered-data-is-accepted-in-recovery",
        "Until its end, recovered data is accepted.",
        _COMPONENT, _PUSHES, checks.accepts_recovered, invariant="I-94", needs=_PUSHED,
    ),
    Property(
        "a-push-after-release-is-recycled-silently",
        "A push into a released channel is no error, and tells nobody anything.",
        _COMPONENT, _PUSHES, checks.recycles_after_release, invariant="I-94", tickets=("FLINK-39521",), needs=_PUSHED,
    ),
    Property(
        "a-push-after-recovery-is-refused",
        "A push after recovery is over is an error of kind state.",
        _COMPONENT, ("push_after_end",), checks.refuses_after_the_end, invariant="I-94", tickets=("FLINK-39521",),
        needs=_PUSHED,
    ),
    Property(
        "a-blocked-channel-is-resumed-unless-released",
        "A blocked channel can be resumed; resuming a released one is an error of kind state.",
        _COMPONENT, ("resume",), checks.resumes_unless_released, invariant="I-18",
    ),
    Property(
        "a-channel-says-whether-it-is-in-recovery",
        "A channel is in recovery until the end of recovered data was taken.",
        _COMPONENT, ("in_recovery",), checks.says_whether_in_recovery, invariant="I-89", quiet=True,
    ),
    Property(
        "buffers-in-use-count-every-queued-buffer",
        "The buffers in use are those upstream and every recovered one that waits here.",
        _COMPONENT, ("in_use",), checks.counts_what_waits, invariant="I-21", tickets=("FLINK-39018",),
        needs=_RESOURCES, quiet=True,
    ),
    Property(
        "a-local-channel-holds-what-it-should-and-releases-all",
        "It holds one segment for each buffer that waits, and its view; after release, nothing.",
        _COMPONENT, ("resources",), checks.holds_what_it_should, invariant="I-93", tickets=("FLINK-40667",),
        needs=_RESOURCES, quiet=True,
    ),
    Property(
        "the-consumer-is-told-of-what-waits",
        "Whenever nothing is in progress and something can be taken, the consumer was told so.",
        _COMPONENT, (*_ADDS, *_PUSHES, "request", "take", "resume", "in_use"), checks.nothing_waits_unannounced,
        kind=Kind.EVENTUALLY, invariant="I-22", tickets=("FLINK-39018", "FLINK-40521"), quiet=True,
    ),
)  # fmt: skip

_CHECKPOINTS = (
    Property(
        "recovery-barriers-are-inserted-in-recovery-only",
        "A recovery barrier is inserted exactly if the channel is in recovery, and it says so.",
        _COMPONENT, ("insert_recovery_barrier",), checkpoints.marks_in_recovery_only, invariant="I-41",
        tickets=("FLINK-39523",), needs=_PUSHED,
    ),
    Property(
        "a-newer-barrier-subsumes-the-checkpoint",
        "A checkpoint that starts after a newer barrier came fails as subsumed.",
        _COMPONENT, ("checkpoint_started",), checkpoints.newer_barrier_subsumes, invariant="I-37",
        tickets=("FLINK-21104",),
    ),
    Property(
        "a-missing-recovery-barrier-declines-the-checkpoint",
        "In recovery, a checkpoint whose recovery barrier is missing is declined, and nothing else fails.",
        _COMPONENT, ("checkpoint_started",), checkpoints.missing_mark_declines, invariant="I-42",
        tickets=("FLINK-39523",), needs=_PUSHED,
    ),
    Property(
        "a-checkpoint-starts-if-nothing-is-in-its-way",
        "A checkpoint starts in every state of a physical channel, in recovery if its recovery barrier is there.",
        _COMPONENT, ("checkpoint_started",), checkpoints.starts, invariant="I-41",
        tickets=("FLINK-39018", "FLINK-39523"),
    ),
    Property(
        "a-refused-checkpoint-writes-nothing",
        "Nothing is written for a checkpoint that was subsumed or declined.",
        _COMPONENT, _STATE, checkpoints.failed_writes_nothing, invariant="I-42", tickets=("FLINK-39523",),
        needs=_READBACK,
    ),
    Property(
        "recovered-data-is-written-as-the-checkpoint-starts",
        "Of recovered data, a checkpoint is written exactly what waited when it started, once and in order.",
        _COMPONENT, _STATE, checkpoints.recovered_is_written_once, invariant="I-39",
        tickets=("FLINK-40016", "FLINK-39523"), needs=_READBACK,
    ),
    Property(
        "a-late-stop-of-an-older-checkpoint-changes-nothing",
        "What is taken before the barrier is written although an older checkpoint was stopped meanwhile.",
        _COMPONENT, _STATE, checkpoints.written_after_late_stop, invariant="I-38", tickets=("FLINK-20097",),
        needs=_READBACK,
    ),
    Property(
        "an-older-barrier-does-not-end-the-checkpoint",
        "What is taken before the barrier is written although the barrier of an older checkpoint came meanwhile.",
        _COMPONENT, _STATE, checkpoints.written_after_old_barrier, invariant="I-37", tickets=("FLINK-21104",),
        needs=_READBACK,
    ),
    Property(
        "nothing-behind-the-barrier-is-written",
        "What is taken behind the barrier, or after the checkpoint was stopped, is not written for it.",
        _COMPONENT, _STATE, checkpoints.nothing_behind_is_written, invariant="I-36",
        tickets=("FLINK-20097", "FLINK-20654"), needs=_READBACK,
    ),
    Property(
        "live-data-before-the-barrier-is-written-once",
        "Live data that is taken between the start of a checkpoint and its barrier is written once and in order, "
        "behind what was recovered.",
        _COMPONENT, _STATE, checkpoints.live_is_written_once, invariant="I-34",
        tickets=("FLINK-17315", "FLINK-18139"), needs=_READBACK,
    ),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = (
    answers_property(_COMPONENT),
    # Nobody ever waits for anybody here unless recovered data is pushed.
    *(
        one if one.slug == ONE_ORDER else replace(one, needs=one.needs | _PUSHED)
        for one in thread_properties(_COMPONENT)
    ),
    *_IN_AND_OUT,
    *_CHECKPOINTS,
    *SITUATIONS,
)

__all__ = ["PROPERTIES", "LocalChannelLedger"]
