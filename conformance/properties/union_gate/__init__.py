"""What must be true of several gates as one, as named sentences. recovery.md, sections 2.9 and 3.2."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability
from conformance.properties.base import (
    Judgement,
    Kind,
    Level,
    Property,
    Seen,
    answers_property,
    thread_properties,
)
from conformance.properties.union_gate import checks, goals
from conformance.properties.union_gate.ledger import UnionGateLedger

_UNION = "union-gate"
_POLL = ("poll",)
_SENDS = ("data", "event", "completion", "unaligned_barrier", "aligned_barrier", "end_of_data", "end_of_partition")
_FEEDS = (*_SENDS, "recover", "finish_recovery", "convert", "request", "resume")
_ENDS = ("fail", "release")

_ALWAYS = (
    answers_property(_UNION),
    *thread_properties(_UNION),
    Property(
        "live-data-waits-for-recovered-data",
        "What a channel recovered comes before anything live of that channel, except priority events.",
        _UNION, _POLL, checks.live_waits_for_recovered, invariant="I-09", tickets=("FLINK-39018",),
    ),
    Property(
        "elements-arrive-once-in-order-from-their-channel",
        "Each element reaches the consumer once, in the order of its channel, and with the number of that channel "
        "among all channels of all gates.",
        _UNION, _POLL, checks.arrives_in_order, invariant="I-28", tickets=("FLINK-39018", "FLINK-20145"),
    ),
    Property(
        "a-priority-event-of-any-gate-comes-first",
        "A priority event that is there when a poll begins comes before everything else, whichever gate has it.",
        _UNION, _POLL, checks.priority_comes_first, invariant="I-30", tickets=("FLINK-20145",),
    ),
    Property(
        "gates-are-served-in-turn",
        "A gate that has something has its turn after at most one ordinary element of each other gate.",
        _UNION, _POLL, checks.served_in_turn, invariant="I-30",
    ),
    Property(
        "a-slow-gate-holds-up-no-other",
        "A gate that has nothing, or is recovering, or blocked, delays neither data nor barriers of another gate.",
        _UNION, _POLL, checks.slow_gate_holds_up_no_other, invariant="I-97", tickets=("FLINK-39018",),
    ),
    Property(
        "operations-fail-only-after-release",
        "Polling, requesting and resuming fail only if the gates are being released.",
        _UNION, ("poll", "request", "resume"), checks.fails_only_when_released, invariant="I-32",
        tickets=("FLINK-20145", "FLINK-21104"),
    ),
    Property(
        "released-gates-hand-out-nothing",
        "A poll that begins after release answers no element.",
        _UNION, _POLL, checks.released_gates_hand_out_nothing, invariant="I-94",
    ),
    Property(
        "nothing-follows-the-last-end",
        "With the end of the last channel the consumer is told that nothing follows, and polls then answer nothing.",
        _UNION, _POLL, checks.nothing_follows_the_end, invariant="I-33", tickets=("FLINK-38544",),
    ),
    Property(
        "availability-tells-the-truth",
        "Asked while nothing is under way, the union says that it is available if something can be polled.",
        _UNION, ("available",), checks.availability_is_true, invariant="I-22", tickets=("FLINK-20383",), quiet=True,
    ),
    Property(
        "no-wake-up-is-lost",
        "Whenever something can be polled and nothing is under way, the consumer has been told so.",
        _UNION, (*_FEEDS, "poll", "available"), checks.no_wake_up_is_lost, invariant="I-22",
        tickets=("FLINK-20145", "FLINK-20383", "FLINK-39018"), quiet=True,
    ),
    Property(
        "the-consumer-is-told-of-priority-events",
        "Whenever a priority event can be polled and nothing is under way, the consumer has been told of one.",
        _UNION, (*_FEEDS, "poll"), checks.priority_is_announced, invariant="I-22", tickets=("FLINK-20145",), quiet=True,
    ),
    Property(
        "an-empty-union-lets-its-consumer-sleep",
        "After some empty polls, and if nothing happens meanwhile, the union is not available any more.",
        _UNION, ("available",), checks.empty_polls_come_to_an_end, invariant="I-32",
        tickets=("FLINK-20145", "FLINK-21104"), quiet=True,
    ),
    Property(
        "a-union-that-has-ended-is-available",
        "Once every gate has ended the union is available for ever, so that the consumer notices.",
        _UNION, ("available",), checks.the_end_is_available, invariant="I-33", quiet=True,
    ),
    Property(
        "a-union-is-finished-once-every-gate-is",
        "The union says that it is finished exactly if the end of every channel of every gate was taken.",
        _UNION, ("finished",), checks.finished_is_true, invariant="I-33", quiet=True,
    ),
    Property(
        "the-right-producer-is-resumed",
        "Resuming a channel over the network tells the producer of that channel, and no other, to go on.",
        _UNION, ("resume",), checks.right_producer_is_resumed, invariant="I-17", tickets=("FLINK-23223",),
    ),
    Property(
        "credit-goes-to-producers-of-the-same-gate",
        "A buffer that was read is announced to a producer of the gate that it came from, and to no other.",
        _UNION, _POLL, checks.credit_goes_to_that_gate, invariant="I-96",
    ),
    Property(
        "each-gate-is-converted-on-its-own",
        "A gate that has nothing to lose is converted, even if another gate was never read.",
        _UNION, ("convert",), checks.conversion_is_per_gate, invariant="I-26", tickets=("FLINK-38544",),
    ),
    Property(
        "unread-state-is-not-converted-away",
        "Converting a gate whose state was not read is an error of kind state.",
        _UNION, ("convert_early",), checks.unread_state_is_kept, invariant="I-27", tickets=("FLINK-39018",),
    ),
    Property(
        "the-end-of-recovered-data-is-told-for-every-gate",
        "Once the consumer took the end of the recovered data of a channel, that is told with the channel's number.",
        _UNION, ("resources",), checks.end_of_state_is_told, kind=Kind.EVENTUALLY, invariant="I-26",
        tickets=("FLINK-38544",),
    ),
    Property(
        "released-gates-hold-nothing",
        "After release no gate holds segments, listeners or futures.",
        _UNION, ("resources",), checks.everything_is_given_back, invariant="I-93",
        needs=frozenset({Capability.RESOURCES}), quiet=True,
    ),
)  # fmt: skip


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[UnionGateLedger, Seen], Judgement],
          needs: frozenset[Capability] = frozenset()) -> Property:  # fmt: skip
    return Property(slug, statement, _UNION, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=needs)


_STEPPING = frozenset({Capability.STEPPING})
_PUSHED = frozenset({Capability.RECOVERS_BY_PUSHING, Capability.STEPPING})

_SOMETIMES = (
    _goal("a-priority-event-moved-its-gate-up",
          "A gate that stood in the queue got a priority event.", ("unaligned_barrier",), goals.priority_gate_moved_up),
    _goal("two-gates-had-priority-events-at-once",
          "Priority events waited in two gates.", ("unaligned_barrier",), goals.two_gates_with_priority),
    _goal("a-poll-after-a-priority-notification-found-none",
          "The priority event that the consumer was told of was gone.", _POLL, goals.empty_priority_poll, _STEPPING),
    _goal("a-gate-was-told-of-more-while-it-was-polled",
          "Something came into a gate that was just being polled.", _POLL, goals.told_while_polled, _STEPPING),
    _goal("a-gate-was-converted-beside-unread-state",
          "A gate was converted while another had unread state.", ("convert",), goals.converted_beside_unread_state),
    _goal("live-data-passed-a-recovering-gate",
          "A gate delivered live while another had unread state.", _POLL, goals.live_beside_recovery),
    _goal("a-barrier-passed-a-recovering-gate",
          "A gate delivered a priority event while another had unread state.", _POLL,
          goals.priority_beside_unread_state),
    _goal("data-passed-a-blocked-gate",
          "A gate delivered while all channels of another were blocked.", _POLL, goals.served_beside_blocked_gate),
    _goal("a-gate-ended-before-another", "One gate ended and another went on.", ("finished",),
          goals.gate_ended_before_another),
    _goal("the-last-gate-ended", "The last gate ended.", ("finished",), goals.last_gate_ended),
    _goal("released-while-recovering", "Released before every gate was live.", _ENDS, goals.released_while_recovering),
    _goal("released-while-live", "Released while gates delivered.", _ENDS, goals.released_while_live),
    _goal("released-after-the-last-end", "Released after every gate had ended.", _ENDS, goals.released_after_the_end),
    _goal("released-a-second-time", "Released again.", ("release",), goals.released_again),
    _goal("released-while-it-was-polled", "Released in the middle of a poll.", ("release",),
          goals.released_while_polled, _STEPPING),
    _goal("released-while-a-push-was-under-way", "Released while recovered data was being pushed.", ("release",),
          goals.released_while_pushed, _PUSHED),
    _goal("failed-and-begun-anew", "A fresh union took over after a failure.", ("restore",), goals.restored),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = _ALWAYS + _SOMETIMES

__all__ = ["PROPERTIES", "UnionGateLedger"]
