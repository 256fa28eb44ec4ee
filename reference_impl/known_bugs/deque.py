"""Defects of the prioritised deque, one for each of its properties."""

from __future__ import annotations

from typing import Any

from conformance.ports import KnownBug
from reference_impl.known_bugs.building import with_deque
from reference_impl.prioritized_deque import PrioritizedDeque


class PrioritizesAtTheFront(PrioritizedDeque[Any]):
    def prioritize(self, element: Any) -> None:
        index = self.index(element)
        if index >= self.priority:
            self.elements.insert(0, self.elements.pop(index))
            self.priority += 1


class PrioritizesAgain(PrioritizedDeque[Any]):
    def prioritize(self, element: Any) -> None:
        self.remove(lambda one: one is element)
        self.add_priority(element)


class PrioritizesAnEqual(PrioritizedDeque[Any]):
    def index(self, element: Any) -> int:
        return self.elements.index(element)


class ForgetsToCountRemoved(PrioritizedDeque[Any]):
    def remove(self, matches: Any) -> Any:
        index = next(index for index, element in enumerate(self.elements) if matches(element))
        return self.elements.pop(index)


class PollsTheTail(PrioritizedDeque[Any]):
    def poll(self) -> Any:
        if self.elements and not self.priority:
            return self.elements.pop()
        return super().poll()


class AnyEqualHasPriority(PrioritizedDeque[Any]):
    def contains_priority(self, element: Any) -> bool:
        return element in self.elements[: self.priority]


class KeepsPriorityOnRelease(PrioritizedDeque[Any]):
    def clear(self) -> None:
        del self.elements[self.priority :]


class LosesTheOrdinaryHead(PrioritizedDeque[Any]):
    def prioritize(self, element: Any) -> None:
        if not self.priority and len(self.elements) > 2 and self.index(element) > 1:
            self.elements.pop(0)
        super().prioritize(element)


class RefusesTheLast(PrioritizedDeque[Any]):
    def prioritize(self, element: Any) -> None:
        if self.elements[-1] is element and len(self.elements) > 1:
            raise LookupError("the last element cannot be moved")
        super().prioritize(element)


def _bug(number: str, slug: str, summary: str, part: type[PrioritizedDeque[Any]]) -> KnownBug:
    identity = f"B-D{number}"
    return KnownBug(identity, "own", "deque", slug, summary, lambda: with_deque(identity, part))


BUGS: tuple[KnownBug, ...] = (
    _bug("1", "all-others-keep-their-order", "Prioritised items go to the very front.", PrioritizesAtTheFront),
    _bug("2", "all-others-keep-their-order", "An item that has priority is moved again.", PrioritizesAgain),
    _bug("3", "prioritising-means-that-very-item", "Prioritising finds an item by equality.", PrioritizesAnEqual),
    _bug("4", "priority-elements-are-counted-right", "Removing does not lower the count.", ForgetsToCountRemoved),
    _bug("5", "a-poll-takes-the-head", "Without priority elements, the tail is polled.", PollsTheTail),
    _bug("6", "priority-elements-are-told-from-others", "An equal item counts as the same.", AnyEqualHasPriority),
    _bug("7", "a-released-deque-is-empty", "Release keeps the priority elements.", KeepsPriorityOnRelease),
    _bug("8", "all-others-keep-their-order", "Prioritising drops the ordinary head.", LosesTheOrdinaryHead),
    _bug("9", "operations-answer-as-the-interface-says", "Prioritising the last item raises.", RefusesTheLast),
)
