"""The code that a search for known bugs, or with legal variants, depends on: the same code finds the same again.

The digest of all code, as a campaign keeps it (`conformance.campaigns.code`), is another one after any change. What a
search in one component finds does not depend on the other components, on the commands or on what is printed. So the
imports are followed here, from the search, from the component and from the reference. Found by name, and therefore
added: the reference itself, without the catalogues of its changes, and the scenarios of the component in the corpus.
What a person reads, comments and docstrings, decides nothing, and is left out.
"""

from __future__ import annotations

import ast
import hashlib
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from io import StringIO
from typing import Any

import msgspec

from conformance.components import COMPONENTS
from conformance.engines.corpus import corpus
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from conformance.scenarios import encode_scenario

_SUITE, _REFERENCE = "conformance", "reference_impl"
_SEARCHES = ("conformance.engines.matrix", "conformance.engines.variants")


def search_digest(component: str, about: Any) -> str:
    """Returns the digest of what a search in a component depends on. `about`: what it searches for, and how.

    Versions of Python and of packages are not part of it: with any of them, scenarios and histories are the same.
    """
    return _hash([_code(component), about])


def searched_modules(component: str) -> Mapping[str, str]:
    """Returns the modules whose code a search in a component can run, by their names, with their texts.

    The package around a module counts only if something is imported from it: what else it imports is not run.
    """
    texts, found = _texts(_SUITE), dict[str, str]()
    waiting = [*_SEARCHES, COMPONENTS[component].make_ledger.__module__]
    for text in _texts(_REFERENCE).values():
        waiting += _imported(text)
    while waiting:
        module = waiting.pop()
        if module in texts and module not in found:
            found[module] = texts[module]
            waiting += _imported(texts[module])
    return found


@cache
def _code(component: str) -> str:
    scenarios = {name: encode_scenario(one) for name, one in corpus(COMPONENTS[component])}
    modules = {**searched_modules(component), **_texts(_REFERENCE)}
    return _hash([{name: without_words(text) for name, text in modules.items()}, scenarios])


@cache
def _texts(package: str) -> Mapping[str, str]:
    """Returns the modules of a package by their names, with their texts."""
    found = Package(package, CATALOGUES)
    return {module: found.text(file) for file, module in found.files.items()}


@cache
def without_words(text: str) -> str:
    """Returns the text of a module without what a person reads: comments, docstrings, and the lines that they leave
    empty."""
    lines = text.splitlines(keepends=True)
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    spans = [(one.start, one.end) for one in tokens if one.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            last = node.end_lineno or node.lineno
            begin = _column(lines[node.lineno - 1], node.col_offset)
            spans.append(((node.lineno, begin), (last, _column(lines[last - 1], node.end_col_offset or 0))))
    for (first, begin), (last, end) in sorted(spans, reverse=True):  # from the end, so that the others stay in place
        left = lines[first - 1][:begin].rstrip() + lines[last - 1][end:]
        lines[first - 1 : last] = [left] if left.strip() else []
    return "".join(lines)


def _column(line: str, offset: int) -> int:
    """Returns the place in a line of what is so many bytes behind its begin, as the syntax tree counts."""
    return len(line.encode()[:offset].decode())


@cache
def _imported(text: str) -> tuple[str, ...]:
    """Returns what a module may import. What `from … import` names may be a module or not."""
    return tuple(_names(ast.parse(text)))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


def _hash(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]
