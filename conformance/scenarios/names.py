"""Checks a name that stands in a file before it becomes part of a path."""

from __future__ import annotations

import re

from conformance.scenarios.reading import SchemaError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,199}")


def as_file_name(name: str) -> str:
    """Returns the name, which is one file in whatever folder it is put. Raises: SchemaError."""
    if not _NAME.fullmatch(name):
        raise SchemaError(
            f"{name[:200]!r} cannot be the name of a file: it must begin with a letter or a digit, and contain only "
            "letters, digits and . _ @ -"
        )
    return name
