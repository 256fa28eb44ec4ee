"""Names what threads wait for and take as a noun with its article: `the gate lock`."""

from __future__ import annotations

import re

_READY = re.compile(r"(.+) ready")
_NEEDS_NO_ARTICLE = re.compile(r"(?:an?|the) |data\b")


def with_article(name: str) -> str:
    """Returns the name of a waitable as a noun: `gate lock` is `the gate lock`, and `upstream 1 ready`, for which a
    thread waits, is `upstream 1 to be ready`."""
    if found := _READY.fullmatch(name):
        return f"{found[1]} to be ready"
    return name if _NEEDS_NO_ARTICLE.match(name) else f"the {name}"
