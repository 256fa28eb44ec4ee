"""The rows of an earlier `--json` of known bugs or legal variants, so that only what has changed is done again.

A row says with a digest what it depends on (`conformance.campaigns.searched_code`). While that is the same, a new
search would find the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from conformance.ports import KnownBug, LegalVariant
from conformance.reporting.counts import counted, first_of
from conformance.reporting.documents import DOCUMENT_SCHEMA, BugRow, with_words_of_bug
from conformance.reporting.legal_variants import VariantRow, with_words_of_variant
from conformance.scenarios.reading import Misshapen, SchemaError, Unreadable, decode_json, read_bytes

Row = TypeVar("Row", BugRow, VariantRow)

_RIGHT = "--earlier takes what the same command has written with --json"


class _Document(Struct):
    schema: int
    bugs: tuple[BugRow, ...] | None = None
    variants: tuple[VariantRow, ...] | None = None


def earlier_bugs(path: Path, bugs: Iterable[KnownBug]) -> dict[str, BugRow]:
    """Returns the rows of these in a file that `--json` has written, by their ids, with the words of today.

    Raises: SchemaError, which names the file and the field; OSError.
    """
    rows = {row.id: row for row in _rows(_read(path).bugs, path, "bugs")}
    return {one.id: with_words_of_bug(rows[one.id], one) for one in bugs if one.id in rows}


def earlier_variants(path: Path, variants: Iterable[LegalVariant]) -> dict[str, VariantRow]:
    """The same for legal variants."""
    rows = {row.id: row for row in _rows(_read(path).variants, path, "variants")}
    return {one.id: with_words_of_variant(rows[one.id], one) for one in variants if one.id in rows}


def _rows(found: tuple[Row, ...] | None, path: Path, field: str) -> tuple[Row, ...]:
    if found is None:
        raise SchemaError(f"{path}: it has no field {field!r}; {_RIGHT}")
    return found


def _read(path: Path) -> _Document:
    data = read_bytes(path)
    try:
        document = decode_json(data, _Document)
    except Unreadable as error:
        raise SchemaError(error.told(str(path), data)) from None
    except Misshapen as error:
        raise SchemaError(f"{path}: {error}; {_RIGHT}") from None
    if document.schema != DOCUMENT_SCHEMA:
        raise SchemaError(f"{path}: schema is {document.schema}, and this version reads {DOCUMENT_SCHEMA}; {_RIGHT}")
    return document


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """What is known of everything that a page is about: some of it from earlier, and some of it from now."""

    digests: Mapping[str, str]
    """By its id, what a row of today depends on; the order is that of the page. Empty: nobody can say."""
    earlier: Mapping[str, Row]

    def still_true(self, id: str) -> bool:
        """Returns whether the earlier row is what a new search would find."""
        row, digest = self.earlier.get(id), self.digests[id]
        return row is not None and row.found_with == digest != ""

    def with_new(self, new: Mapping[str, Row]) -> list[Row]:
        """Returns the new rows, and the earlier ones of everything else."""
        known = {**self.earlier, **new}
        return [known[id] for id in self.digests if id in known]

    def remarks(self, noun: str, new: Mapping[str, Row]) -> list[str]:
        """Returns a sentence about the rows that are neither new nor still true; none if there are none."""
        old = [id for id in self.digests if id in self.earlier and id not in new and not self.still_true(id)]
        if not old:
            return []
        return [f"Tried with other code or other options than the rest: {counted(len(old), noun)} ({first_of(old)})."]
