"""The situations that a campaign must have seen of a local channel, as named sentences."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability
from conformance.properties.base import Judgement, Kind, Level, Property, Seen
from conformance.properties.local_channel import goals
from conformance.properties.local_channel.ledger import LocalChannelLedger

_STEPPING = frozenset({Capability.STEPPING})
_IN_MEMORY = frozenset({Capability.RECOVERS_IN_MEMORY})
_PUSHED = frozenset({Capability.RECOVERS_BY_PUSHING})
_PASSES = frozenset({Capability.BLOCKED_PRIORITY_LOCAL})
_READBACK = frozenset({Capability.PERSISTED_READBACK})
_PUSHES = ("push_recovered", "finish_recovered")
_START = ("checkpoint_started",)
_RELEASE = ("release",)


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[LocalChannelLedger, Seen], Judgement],
          needs: frozenset[Capability] = frozenset()) -> Property:  # fmt: skip
    return Property(slug, statement, "local-channel", on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=needs)


SITUATIONS = (
    _goal("live-data-waited-behind-recovered-data", "Recovered data was taken while live data waited.", ("take",),
          goals.live_waited, _IN_MEMORY),
    _goal("a-priority-event-passed-recovered-data", "A barrier overtook recovered data.", ("take",),
          goals.priority_passed_recovered, _IN_MEMORY),
    _goal("two-priority-events-waited-in-recovery", "Two barriers were queued in front of recovered data.", ("take",),
          goals.two_priority_events_in_recovery, _IN_MEMORY),
    _goal("a-priority-event-passed-a-blocked-channel", "A barrier passed a blocked channel.", ("take",),
          goals.priority_passed_blocked, _PASSES),
    _goal("an-announced-priority-event-was-gone", "The consumer was told of a barrier that it had taken before.",
          ("take",), goals.priority_was_gone, _STEPPING),
    _goal("an-older-barrier-came-while-one-was-pending", "The barrier of an older checkpoint came.", ("take",),
          goals.older_barrier_came),
    _goal("live-data-was-written", "Live data was taken before the barrier of a checkpoint that had started.",
          ("take",), goals.live_data_was_written),
    _goal("a-checkpoint-started-with-recovered-buffers", "A checkpoint found several recovered buffers.", _START,
          goals.started_with_recovered, _IN_MEMORY),
    _goal("a-checkpoint-started-in-a-recovery-from-one-like-it",
          "A checkpoint made in recovery was restored, and another one made in that recovery.", _START,
          goals.started_in_recovery_of_recovery, _IN_MEMORY | _READBACK),
    _goal("a-buffer-was-pushed-behind-the-recovery-barrier",
          "Between recovery barrier and start of a checkpoint a buffer was pushed.", _START,
          goals.pushed_behind_the_mark, _PUSHED),
    _goal("a-recovery-barrier-was-missing", "A checkpoint started without its recovery barrier.", _START,
          goals.mark_was_missing, _PUSHED),
    _goal("a-newer-recovery-barrier-was-in-the-way", "A checkpoint found only the recovery barrier of a newer one.",
          _START, goals.newer_mark_in_the_way, _PUSHED),
    _goal("a-checkpoint-started-after-a-declined-one", "After a missing recovery barrier the next checkpoint started.",
          _START, goals.started_after_a_missing_mark, _PUSHED),
    _goal("an-older-recovery-barrier-was-dropped", "A checkpoint found the recovery barrier of an older one as well.",
          _START, goals.older_mark_was_dropped, _PUSHED),
    _goal("a-checkpoint-was-subsumed", "A checkpoint started after a newer barrier had come.", _START,
          goals.was_subsumed),
    _goal("a-checkpoint-started-after-its-barrier-came", "The barrier came, and then its checkpoint started.", _START,
          goals.started_after_its_barrier),
    _goal("an-older-checkpoint-was-stopped-late", "An older checkpoint was stopped while a newer one was pending.",
          ("checkpoint_stopped",), goals.stopped_late),
    _goal("a-push-waited-for-the-upstream", "A push began before the subpartition was asked for.", _PUSHES,
          goals.pusher_waited, _PUSHED),
    _goal("a-release-woke-a-waiting-push", "A push waited for the upstream when the channel was released.", _PUSHES,
          goals.release_woke_a_pusher, _PUSHED),
    _goal("a-push-raced-with-release", "A release was over while a push was in progress.", _RELEASE,
          goals.push_raced_with_release, _PUSHED | _STEPPING),
    _goal("an-add-raced-with-release", "A release was over while the producer was adding.", _RELEASE,
          goals.add_raced_with_release, _STEPPING),
    _goal("released-before-the-subpartition-was-asked-for", "Released before it was requested.", _RELEASE,
          goals.released_before_request),
    _goal("released-with-recovered-data", "Released while recovered data waited.", _RELEASE,
          goals.released_with_recovered, _IN_MEMORY),
    _goal("released-with-live-data", "Released while live data waited.", _RELEASE, goals.released_with_live),
    _goal("released-while-blocked", "Released while blocked.", _RELEASE, goals.released_while_blocked),
    _goal("released-while-a-checkpoint-was-pending", "Released before the barrier of a checkpoint came.", _RELEASE,
          goals.released_while_pending),
    _goal("released-after-the-end-of-the-partition", "Released after its producer had finished.", _RELEASE,
          goals.released_after_the_end),
    _goal("released-a-second-time", "Released again.", _RELEASE, goals.released_twice),
    _goal("failed-in-the-middle-of-an-operation", "Everything failed while the task or recovery was at work.",
          ("fail",), goals.failed_in_flight, _STEPPING),
    _goal("failed-and-restored-with-input-state", "A checkpoint with input state was restored after a failure.",
          ("restore",), goals.restored_with_state, _READBACK),
)  # fmt: skip
