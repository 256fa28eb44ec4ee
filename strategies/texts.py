"""What records say: orders, payments and readings of sensors, in five languages. Nobody observes it.

A record is its id, its key, its size and its time. What it says besides is there for people who read a report, and for
bodies with characters of one to four bytes. So it is not drawn: it follows from the id and the kind of a record, out of
tables that `Faker` makes once in a process, from a fixed seed, when the first text is asked for. The same seed gives
other text with another version of Faker. Therefore no scenario, history, signature, digest or corpus holds text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from strategies.records import KINDS, Kind

LOCALES: Final = ("en_US", "de_DE", "ru_RU", "ja_JP", "hi_IN")
_SEED: Final = 39519
_TABLE = 24
"""How many people, places and companies there are for each locale."""
_HUGE = 4_096
"""How often a huge text repeats its name."""


class _Words(NamedTuple):
    """What a record is about."""

    person: str
    place: str
    company: str
    picture: str


@dataclass(frozen=True)
class Texts:
    """The texts of all records. They differ with the seed and the locales, and nothing else does."""

    seed: int = _SEED
    locales: tuple[str, ...] = LOCALES

    def text(self, record: int, kind: Kind = "order") -> str:
        """Returns what the record with this id says, as `木村 陽一, 3 items`; sometimes nothing, or very much.

        Raises: ValueError if there is no such kind.
        """
        if kind not in _SAYS:
            raise ValueError(f"a record is one of {', '.join(KINDS)}, found {kind!r}")
        place = record % (len(self._words) + len(_ODD))
        if place < len(self._words):
            return _SAYS[kind](self._words[place], record)
        return _ODD[place - len(self._words)](_SAYS[kind](self._words[0], record))

    def body(self, record: int, length: int, kind: Kind = "order") -> bytes:
        """Returns what the record says in so many bytes of UTF-8: with pictures, which take four bytes each, said again
        and again or cut off behind a whole character, and then filled with spaces.

        Raises: ValueError as `text`, or if the length is negative.
        """
        if length < 0:
            raise ValueError(f"a body cannot have {length} bytes")
        picture = self._words[record % len(self._words)].picture
        said = f"{self.text(record, kind)} {picture} ".encode()
        whole = (said * (length // len(said) + 1))[:length].decode(errors="ignore").encode()
        return whole.ljust(length)

    @cached_property
    def _words(self) -> tuple[_Words, ...]:
        """Who and what records are about. Neighbours are of different locales."""
        from faker import Faker  # takes longer to import than all strategies

        def made(locale: str) -> list[_Words]:
            faker: Any = Faker(locale)  # of several locales, one Faker would draw which one it uses
            faker.seed_instance(self.seed)
            # The pictures of Faker may consist of several characters.
            return [_Words(faker.name(), faker.city(), faker.company(), faker.emoji()[0]) for _ in range(_TABLE)]

        return tuple(one for some in zip(*map(made, self.locales), strict=True) for one in some)


def _order(about: _Words, record: int) -> str:
    items = 1 + record * 7 % 9
    return f"{about.person}, {items} item{'s' if items > 1 else ''}"


def _payment(about: _Words, record: int) -> str:
    return f"{about.person} to {about.company}, {record * 7_919 % 100_000 / 100:.2f}"


def _reading(about: _Words, record: int) -> str:
    return f"{about.place}, {record * 37 % 600 / 10 - 20:.1f} °C"


_SAYS: Mapping[Kind, Callable[[_Words, int], str]] = {"order": _order, "payment": _payment, "reading": _reading}
_ODD: tuple[Callable[[str], str], ...] = (lambda said: "", lambda said: said * _HUGE)
"""Of the texts in a table, one is empty and one is huge."""

TEXTS: Final = Texts()
"""The texts of the suite. Nothing is made before the first is asked for."""


def described(record: int, kind: Kind = "order", longest: int = 60, texts: Texts = TEXTS) -> str:
    """Returns how a report shows the record with this id: `order 17, 木村 陽一, 3 items`. A long text is cut off.

    Raises: ValueError if there is no such kind.
    """
    said = texts.text(record, kind)
    said = said if len(said) <= longest else f"{said[: longest - 3]}..."
    return f"{kind} {record}, {said}" if said else f"{kind} {record}"
