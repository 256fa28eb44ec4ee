"""Generates the reference parts of docs/jsonl-protocol.md from the messages and the abstract ports.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; everything else of the page is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields

from conformance.bridges.jsonl.protocol import Reply, Request, StrictOutcome, schema, spoken
from conformance.bridges.jsonl.remote import SILENT
from conformance.ports import (
    INTERFACES,
    Capability,
    CheckpointReason,
    Element,
    ErrorKind,
    FaultStruck,
    Interface,
    Interfaces,
    Port,
    Recovery,
    Signal,
)
from conformance.ports.signatures import FAULT, answer_type, operand_types, operations

INDEFINITE = (ErrorKind.CRASHED, ErrorKind.HUNG)
"""Errors after which the suite cannot know whether the operation took effect."""

_SECTION = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SCALARS = {bool: "boolean", int: "integer", str: "text", NoneType: "null", Any: "anything"}
_TAGGED = {one.__name__: str(one.__struct_config__.tag) for one in (*get_args(Element), *get_args(Signal))}
_MEMBERS = {one.name: one.value for enum in (ErrorKind, CheckpointReason, Recovery) for one in enum}
_WIRE = {**_TAGGED, **{one.name: one.value for one in Recovery if one is not Recovery.NONE}}
_CHAPTER = re.compile(r"Specification: ([a-z-]+)\.md")
"""Where the docstrings point at a chapter of the specification."""
_JSON = {"None": "null", "True": "true", "False": "false"}


class NoSuchSection(Exception):
    """A page names a section that is not generated."""


def with_sections(page: str, interfaces: Interfaces = INTERFACES) -> str:
    """The page, with its generated parts as they must be. Raises: NoSuchSection."""
    known = sections(interfaces)

    def section(found: re.Match[str]) -> str:
        head, name, end = found.groups()
        if name not in known:
            raise NoSuchSection(f"there is no generated section {name!r}; there are {', '.join(known)}")
        return f"{head}\n{known[name]()}\n\n{end}"

    return _SECTION.sub(section, page)


def schema_text(interfaces: Interfaces = INTERFACES) -> str:
    """The JSON Schema as a file."""
    return msgspec.json.format(msgspec.json.encode(schema(interfaces), order="sorted"), indent=2).decode() + "\n"


# ---- sections --------------------------------------------------------------------------------------------------------
def sections(interfaces: Interfaces) -> dict[str, Callable[[], str]]:
    """Functions that generate the sections, by the name of the section."""
    return {
        "messages": _messages,
        "outcome": _outcome,
        "capabilities": _capabilities,
        "common": _common,
        "components": partial(_components, interfaces),
        "elements": _elements,
        "signals": partial(_signals, interfaces),
        "values": partial(_values, interfaces),
        "texts": partial(_enums, interfaces),
        "errors": _errors,
        "reasons": _reasons,
    }


def _messages() -> str:
    rows = [
        (direction, f"`{one.__struct_config__.tag}`", _fields(one), _first_sentence(one))
        for direction, messages in (("to the program", Request), ("to the suite", Reply))
        for one in get_args(messages)
    ]
    return _table(("direction", "`type`", "fields besides `type`", "what it says"), rows)


def _outcome() -> str:
    rows = [
        (f"`{field.name}`", _type_words(field.type).removesuffix(" or null"), _OUTCOME[field.name])
        for field in fields(StrictOutcome)
        if field.name in _OUTCOME
    ]
    return _table(("field", "type", "what it says"), rows)


_OUTCOME = {
    "value": "What the operation returns, see there.",
    "signals": "The signals that were emitted since the last outcome, in their order.",
    "error": "The operation failed: `kind`; `reason`, for people; with kind `checkpoint` only, `checkpoint_reason`.",
    "blocked": "The operation waits. The suite continues it with this token.",
    "ready": "The tokens of operations that need not wait any longer. Each token is listed once.",
}
"""What each field means. `paused_at` is missing: the driver sets it, and a program never sends it."""


def _capabilities() -> str:
    rows = [(value, *_promised(text)) for value, text in _members(Capability)]
    return _table(("capability", "what it promises", "without it"), rows)


def _promised(text: str) -> tuple[str, str]:
    """What a capability promises, and what holds for an implementation that does not claim it."""
    promise, _, otherwise = text.partition(" Without it, ")
    return promise, f"{otherwise[:1].upper()}{otherwise[1:]}"


def _components(interfaces: Interfaces) -> str:
    return "\n\n".join(_component(name, interface) for name, interface in interfaces.items())


def _component(name: str, interface: Interface) -> str:
    port, config = interface
    parts = [f"### {name}", _prose(inspect.getdoc(port)), *_inherited(port)]
    if fields(config):
        rows = [(f"`{one.name}`", _type_words(one.type), _default(one)) for one in fields(config)]
        parts += [f"Configuration. {_prose(inspect.getdoc(config))}", _table(("field", "type", "default"), rows)]
    else:
        parts += ["Configuration: `{}`."]
    if port.can_fail:
        places = [(f"`{place}`", ", ".join(f"`{kind.value}`" for kind in how)) for place, how in port.can_fail.items()]
        parts += ["What it calls that can fail, with the capability `faults`:", _table(("place", "how"), places)]
    own = [one for one in operations(port) if one not in vars(Port)]
    return "\n\n".join((*parts, _operations(port, own)))


def _common() -> str:
    common: Any = Port  # an abstract class
    return _operations(common, (*operations(common), FAULT))


def _operations(port: type[Port], names: Iterable[str]) -> str:
    rows = []
    for name in names:
        method = getattr(port, name)
        answer = answer_type(method)
        rows.append(
            (f"`{name}`", _operands(method), "" if answer is NoneType else _type_words(answer), _promise(method))
        )
    return _table(("operation", "operands", "returns", "what it does"), rows)


def _inherited(port: type[Port]) -> Iterator[str]:
    """The docstrings of the base classes, without their first paragraph, which only names the kind of port."""
    for one in port.__mro__[1 : port.__mro__.index(Port)]:
        _, _, more = (inspect.getdoc(one) or "").partition("\n\n")
        if more:
            yield _prose(more)


def _elements() -> str:
    return _table(("`type`", "fields", "what it is"), _variants(Element))


def _signals(interfaces: Interfaces) -> str:
    return f"{_table(('`type`', 'fields', 'what it says'), _variants(Signal))}\n\n{_silent(interfaces)}"


def _silent(interfaces: Interfaces) -> str:
    """Which components signal nothing."""
    silent = {name: one.port for name, one in interfaces.items() if one.port in SILENT}
    never = [f"`{name}`" for name, port in silent.items() if not port.can_fail]
    faults = [f"`{name}`" for name, port in silent.items() if port.can_fail]
    return (
        f"No operation of {' or '.join(never)} signals anything, and none of {' or '.join(faults)} anything but "
        f"`{FaultStruck.__struct_config__.tag}`: the suite refuses other signals there."
    )


def _values(interfaces: Interfaces) -> str:
    rows = [(f"`{one.__name__}`", _fields(one), _first_sentence(one)) for one in _plain_structs(interfaces)]
    return _table(("value", "fields", "what it is"), rows)


def _enums(interfaces: Interfaces) -> str:
    rows = [
        (f"`{enum.__name__}`", ", ".join(value + (f": {text[0].lower()}{text[1:-1]}" if text else "")
                                         for value, text in _members(enum)).replace(", `", "; `"))
        for enum in _words(interfaces)
    ]  # fmt: skip
    return _table(("type", "texts that it allows"), rows)


def _errors() -> str:
    rows = [
        (value, "indefinite" if ErrorKind(value.strip("`")) in INDEFINITE else "definite", text)
        for value, text in _members(ErrorKind)
    ]
    return _table(("kind", "effect", "what happened"), rows)


def _reasons() -> str:
    return _table(("`checkpoint_reason`", "why the checkpoint failed"), _members(CheckpointReason))


# ---- what there is ---------------------------------------------------------------------------------------------------
def _vocabulary(interfaces: Interfaces) -> tuple[type, ...]:
    """All structs and enums that calls and their answers are made of, in the order in which they are met."""
    met: dict[type, None] = {}

    def meet(what: Any) -> None:
        if isinstance(what, type) and issubclass(what, Struct | Enum):
            if what not in met:
                met[what] = None
                if issubclass(what, Struct):
                    for field in fields(what):
                        meet(field.type)
        else:
            for part in get_args(what):
                meet(part)

    for one in spoken(interfaces):
        meet(one)
    return tuple(met)


def _plain_structs(interfaces: Interfaces) -> list[type[Struct]]:
    structs = [one for one in _vocabulary(interfaces) if issubclass(one, Struct) and one.__name__ not in _TAGGED]
    configs = {one.config for one in interfaces.values()}
    return [one for one in structs if one not in configs]


def _words(interfaces: Interfaces) -> list[type[Enum]]:
    return [one for one in _vocabulary(interfaces) if issubclass(one, Enum) and one is not CheckpointReason]


def _variants(union: Any) -> list[tuple[str, str, str]]:
    return [(f"`{one.__struct_config__.tag}`", _fields(one), _first_sentence(one)) for one in get_args(union)]


# ---- words -----------------------------------------------------------------------------------------------------------
def _type_words(type_: Any) -> str:
    """A type as a reader of JSON would say it."""
    if type_ in _SCALARS:
        return _SCALARS[type_]
    if type_ == Element:
        return "element"
    if type_ == Signal:
        return "signal"
    if type_ == StrictOutcome:
        return "outcome"
    if get_origin(type_) is tuple:
        return f"list of {_plural(_type_words(get_args(type_)[0]))}"
    if isinstance(type_, type):
        return f"element `{_TAGGED[type_.__name__]}`" if type_.__name__ in _TAGGED else f"`{type_.__name__}`"
    parts = get_args(type_)
    if get_origin(type_) is Annotated:
        return f"{_type_words(parts[0])} from {_lower(parts[1])}"
    if set(get_args(Element)) < set(parts):
        return " or ".join(["element", *(_type_words(one) for one in parts if one not in get_args(Element))])
    return " or ".join(_type_words(one) for one in sorted(parts, key=lambda one: one is NoneType))


def _lower(limits: Meta) -> float:
    """The lower limit of a number. The ports set no other limits."""
    assert limits.ge is not None, f"no words for {limits}"
    return limits.ge


def _plural(words: str) -> str:
    head, _, rest = words.partition(" ")
    if head in ("integer", "signal", "element", "list", "outcome"):
        return f"{head}s {rest}".rstrip()
    return words


def _fields(struct: type[Struct]) -> str:
    said = []
    for field in fields(struct):
        default = _default(field)
        said.append(f"`{field.name}`: {_type_words(field.type)}{f' ({default})' if default else ''}")
    return ", ".join(said)


def _default(field: Any) -> str:
    if field.default is NODEFAULT:
        return ""
    return f"`{msgspec.json.encode(field.default).decode()}`"


def _operands(method: Callable[..., Any]) -> str:
    return ", ".join(f"`{name}`: {_type_words(type_)}" for name, type_ in operand_types(method).items())


def _promise(method: Callable[..., Any]) -> str:
    """The first sentence of an operation, and how it may fail."""
    text = inspect.getdoc(method) or ""
    fails = re.search(r"Raises: PortError (.*?)(?:\n\n|$)", text, re.DOTALL)
    return _sentence(text) + (f" Fails with {_json_words(fails[1])}" if fails else "")


def _first_sentence(documented: Any) -> str:
    return _sentence(inspect.getdoc(documented) or "")


def _sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    return _json_words(re.split(r"(?<=[.])\s+(?=[A-Z`])", paragraph)[0])


def _prose(text: str | None) -> str:
    """A docstring as paragraphs."""
    paragraphs = [" ".join(one.split()) for one in (text or "").split("\n\n")]
    return "\n\n".join(textwrap.fill(_json_words(one), 120, break_long_words=False, break_on_hyphens=False)
                       for one in paragraphs)  # fmt: skip


def _json_words(text: str) -> str:
    """A docstring in which the names of Python are replaced by those of JSON and of the protocol."""
    text = _CHAPTER.sub(r"Specification: [\1](specification/\1.md)", " ".join(text.split())).replace("`Recovery.", "`")
    text = re.sub(r"`[^`]*`", lambda quoted: re.sub(r"\w+", lambda word: _WIRE.get(word[0], word[0]), quoted[0]), text)
    text = re.sub(r"(?<![`\w-])([A-Z]{2}[A-Z_]+|IO)(?![`\w-])",
                  lambda word: f"`{_MEMBERS[word[0]]}`" if word[0] in _MEMBERS else word[0], text)  # fmt: skip
    text = re.sub(r"(?<!`)\b(True|False)\b(?!`)", lambda word: _JSON[word[0]], text)
    return re.sub(r"`?\bNone\b(?=[ ;,.`])`?", "null", text)


def _members(enum: type[Enum]) -> list[tuple[str, str]]:
    """The values of an enum, with the docstrings below them."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(enum))).body
    assert isinstance(tree, ast.ClassDef)
    said: dict[str, str] = {}
    last = ""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            last = node.targets[0].id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            said[last] = _json_words(str(node.value.value))
            last = ""
    return [(f"`{one.value}`", said.get(one.name, "")) for one in enum]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
