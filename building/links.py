"""Links of a page that is published without some of the files that it links to.

In the repository every page links to files next to it. A wheel and the documentation site have some of these files
only, and the repository has no public address that a link could lead to. There such a link becomes text: the path of
the file in the repository.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Collection
from pathlib import Path

_CODE_OR_LINK = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)[^\S\n]*$"
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|(?<!!)\[(?P<label>(?:[^\[\]`]|`[^`]*`)+)\]\((?P<target>[^()\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
"""A block of code, code in a line, or a link. What looks like a link in code is none."""
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|/", re.IGNORECASE)
"""How a target starts that names no file of the repository: with a scheme, or on this page."""


def with_links_to(published: Collection[str], root: Path, page: str, text: str) -> str:
    """Return the text of a page in which the path replaces each relative link to a file that is not published.

    `published` has the files that are published and `page` is the page itself, as paths in the repository, which lies
    in `root`. A link to a folder becomes a link to the folder's README.md if that is published. A link to a file that
    does not exist stays, so that a check of the links finds it.
    """

    def replaced(found: re.Match[str]) -> str:
        label, target = found["label"], found["target"]
        if target is None or _ELSEWHERE.match(target):
            return found[0]
        file, hash_sign, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), file))
        if place in published or not (root / place).exists():
            return found[0]
        if posixpath.join(place, "README.md") in published:
            return f"[{label}]({posixpath.join(file, 'README.md')}{hash_sign}{anchor})"
        if label.strip("`").rstrip("/") in (place, file.rstrip("/")):
            return f"`{place}`"
        return f"{label}, `{place}`" if text.startswith("(", found.start() - 1) else f"{label} (`{place}`)"

    return _CODE_OR_LINK.sub(replaced, text)


def with_plain_links_into(folders: Collection[str], root: Path, page: str, text: str) -> str:
    """Return the text of a page in which each relative link to a file in one of these folders is written in HTML.

    The folders are published as they are, with what their own pages link to. Sphinx would copy the file alone, to a
    place of its own. A link to a file that does not exist stays, as in `with_links_to`, whose arguments these are.
    """

    def replaced(found: re.Match[str]) -> str:
        label, target = found["label"], found["target"]
        if target is None or _ELSEWHERE.match(target):
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target.partition("#")[0]))
        if not any(place.startswith(f"{folder}/") for folder in folders) or not (root / place).is_file():
            return found[0]
        return f'<a href="{html.escape(target)}">{label}</a>'

    return _CODE_OR_LINK.sub(replaced, text)
