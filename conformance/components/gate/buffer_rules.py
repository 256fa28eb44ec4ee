"""Rules for the buffers of gates: credit, the floating buffers that its channels share, and what a live gate holds."""

from __future__ import annotations

from conformance.components.gate import steps
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.rules import NO_PRODUCERS, SEVERAL_GATES
from conformance.driver import Broken, FailureClass, Judgement, Never, Rules, Seen, Setting
from conformance.models.designs import RESOURCES
from conformance.models.words import are, counted, many
from conformance.ports import Recovery, Resources

RULES = Rules[Ledger]("gate")
rule = RULES.rule
NOT_COUNTED = Never(Setting(shape=SEVERAL_GATES), "The producers of a union do not keep to their credit.")
_FLOWING = ("live", "starting")


def counts_credit(ledger: Ledger) -> bool:
    """Returns whether the ledger knows which buffers of the gate are in use, provided that no operation is in
    flight. Before the end of recovered data was taken, a pushed buffer may use one, and no credit is announced."""
    if not ledger.credited or ledger.phase not in _FLOWING:
        return False
    return ledger.recovery is not Recovery.PUSHED or False not in [side.consumed for side in ledger.sides]


def borrowed(ledger: Ledger) -> int:
    """Returns how many floating buffers are in use, if `counts_credit` is true."""
    return sum([max(0, side.uses() - ledger.exclusive) for side in ledger.sides if side.credit and not side.ended])


def segments(ledger: Ledger) -> tuple[int, int]:
    """Returns how many segments the gate must hold, and how many it may hold, before its release, provided that no
    operation is in flight."""
    counted = counts_credit(ledger)
    least, most = 0, 0 if counted else ledger.floating * [gate.ended() for gate in ledger.gates].count(False)
    for side in ledger.sides:
        if side.ended:
            continue
        live, waiting = side.uses(), len(side.waiting)
        if counted and side.credit is not None:  # handed over buffers have memory of their own
            least, most = least + live, most + live + waiting
        elif side.local or not side.gate.converted:
            least, most = least + live + waiting, most + live + waiting
            most += 0 if side.gate.converted else ledger.exclusive
        else:
            least, most = least + side.gate.requested * ledger.exclusive, most + ledger.exclusive + live + waiting
    return least, most


def listeners(ledger: Ledger) -> tuple[int, int]:
    """Returns how many listeners must be held, and how many may be: in a union, one for each local channel whose
    partition was requested."""
    if ledger.union is None:  # a request that must be refused may have attached some of them
        return 0, [side.ended for side in ledger.sides].count(False)
    views = [side.local and side.gate.requested and not side.ended for side in ledger.sides].count(True)
    return views, views


@rule(*steps.CREDITED, invariant="I-96", quiet=True, never=(NO_PRODUCERS, NOT_COUNTED))
def credit_is_backed_by_buffers_of_the_gate(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The credit of all producers and the live data that waits in remote channels together are at most as many as the
    exclusive buffers of these channels and the floating buffers of the gate."""
    if not counts_credit(ledger):
        return False
    used, floating = borrowed(ledger), ledger.floating
    if used <= floating:
        return used > 0
    owed = f"credit and data that waits may use {many(floating, 'floating buffer')} besides the exclusive ones"
    return Broken(FailureClass.PROTOCOL, owed, f"they use {many(used, 'floating buffer')}")


@rule(*steps.CREDITED, invariant="I-96", quiet=True, never=(NO_PRODUCERS, NOT_COUNTED))
def exclusive_buffers_are_announced_again(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The credit of a producer and its data that waits in the channel together are at least as many as the exclusive
    buffers of that channel: a buffer that was read is announced again."""
    if not counts_credit(ledger):
        return False
    for number, side in enumerate(ledger.sides):
        if side.credit is None or side.ended or (uses := side.uses()) >= side.credit.exclusive:
            continue
        owed = f"channel {number} has {many(side.credit.exclusive, 'exclusive buffer')}, each for data or announced"
        return Broken(FailureClass.LOST, owed, f"credit and data that waits use {many(uses, 'buffer')}")
    return ledger.exclusive > 0


@rule(*steps.CREDITED, invariant="I-96", quiet=True, never=(NO_PRODUCERS, NOT_COUNTED))
def no_channel_waits_for_a_free_buffer(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """While the backlog of a producer requires more credit than it has, no floating buffer of the gate is free: what
    another channel gives back, also by ending, is announced to the channel that waits."""
    if not counts_credit(ledger):
        return False
    for number, side in enumerate(ledger.sides):
        credit = side.credit
        if credit is None or side.ended or credit.granted >= credit.required:
            continue
        if (free := ledger.floating - borrowed(ledger)) <= 0:
            return True
        owed = (
            f"the producer of channel {number} requires a credit of {credit.required}, and {are(free, 'buffer')} free"
        )
        return Broken(FailureClass.STUCK, owed, f"its credit is {credit.granted}")
    return False


@rule(
    steps.resources,
    invariant="I-93",
    needs=RESOURCES,
    quiet=True,
    formerly=(
        "while-it-lives-a-gate-holds-what-it-should",
        "no-resource-of-a-union-is-leaked-while-open",
        "while-it-lives-a-union-holds-what-its-gates-need",
    ),
)
def no_resource_of_a_gate_is_leaked_while_open(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Before its release, a gate holds the buffers that wait in its channels, the exclusive buffers of remote channels
    and the floating buffers that they borrowed, and nothing of a channel that has ended; at most one listener for each
    channel, in a union one for each local channel that was requested; at most two futures for each channel in
    recovery."""
    if ledger.is_over() or ledger.is_broken():
        return False
    for what, (least, most) in (
        ("segments", segments(ledger)),
        ("listeners", listeners(ledger)),
        ("futures", (0, 2 * sum([not (side.consumed or side.unseen_end()) for side in ledger.sides]))),
    ):
        held = getattr(seen.value, what)
        if held is not None and not least <= held <= most:
            owed = (
                f"the gate must hold {counted(least, what)}"
                if least == most
                else f"the gate may hold {least} to {counted(most, what)}"
            )
            return Broken(
                FailureClass.LEAKED if held > most else FailureClass.LOST, owed, f"it holds {counted(held, what)}"
            )
    return True
