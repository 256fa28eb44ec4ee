"""Whatever the packages print goes through the one place that makes text harmless: `conformance.system.text`.

The test reads the source. It knows the calls that print, and refuses the arguments that are neither literals nor made
harmless; so a new way out is found by itself. What the data in between may hold is tried by
`tests/reporting/test_hostile_text.py`.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACE = "conformance.system.text"
PACKAGES = ("conformance", "reference_impl", "strategies", "checkpoint_conformance_pytest.py")
LISTED = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
SOURCES = tuple(one for one in LISTED.split() if one.endswith(".py"))
TEMPLATES = tuple(one for one in LISTED.split() if one.endswith(".html"))

CONSOLES = ("console", "out", "notes")
"""Every console has one of these names, and is a `CarefulConsole`: types are checked, and there is no other."""
OTHERS_OF_A_CONSOLE = frozenset(
    {"log", "rule", "out", "print_json", "print_exception", "status", "input", "pager", "render_str", "save_html"}
)
"""Methods of rich that print without the care of `CarefulConsole`, or read markup."""
OF_RICH = frozenset(
    {
        "Console",
        "ConsoleOptions",
        "Group",
        "Live",
        "RenderableType",
        "RenderResult",
        "Measurement",
        "Segment",
        "Table",
        "Text",
        "box",
        "BarColumn",
        "MofNCompleteColumn",
        "Progress",
        "TextColumn",
        "TimeElapsedColumn",
    }
)
"""Of them, none reads markup in a text, except TextColumn unless it is told."""
SAYING = frozenset(["fail", "skip", "xfail", "exit", "UsageError", "warn"])
"""Functions of pytest and warnings whose first argument is printed."""
TERMINALS = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "terminalreporter", "reporter")
WRITING = ("write", "writelines", "write_line", "write_sep", "section", "line")
NOT_PRINTED = frozenset(
    {
        "answers",
        "archive",
        "file",
        "files",
        "port",
        "self",
        "self._wire",
        "self.appender",
        "self.file",
        "self.states",
        "service.wire",
        "stream",
        "super()",
        "table",
        "os",
    }
)
"""What else is written to: files, pipes and tables. Who adds one has looked where it leads."""
FORBIDDEN = frozenset(
    {
        "click.echo_via_pager",
        "rich.print",
        "pprint.pprint",
        "traceback.print_exc",
        "traceback.print_exception",
        "traceback.print_stack",
        "faulthandler.dump_traceback",
        "Console",
    }
)
LOOKED_AT = {
    ("conformance/bridges/episodes/adapter.py", "asked.write("): "a line of JSON for the process of the adapter",
    ("conformance/engines/relay.py", "sys.stderr.write("): "a name is a `neutral_line`, the rest is `Quoted`",
    (
        "checkpoint_conformance_pytest.py",
        'pytest.UsageError(f"The conformance suite needs its own package',
    ): "folders of this machine, when no package of the suite can be imported",
    ("conformance/reporting/console.py", "self.print(line, soft_wrap=True)"): "this is the CarefulConsole",
    ("conformance/suite/run.py", "terminalreporter.write(text.getvalue())"): "a CarefulConsole has printed it",
    ("conformance/engines/operators.py", "sys.stdout.write(msgspec.json.encode(trial).decode())"): "JSON for a pipe",
    ("conformance/bridges/jsonl/__main__.py", "print(schema_text(), end='')"): "the schema of the suite",
    ("conformance/cli/documentation.py", "out.print_lines(part.removesuffix('\\n'))"):
        "a page of the suite",
    ("conformance/cli/one_scenario.py", "out.print_lines(encode_scenario(short).removesuffix('\\n'))"):
        "JSON, in which no text has a line break",
    ("conformance/cli/__init__.py",
     "notes.print_lines(shown.getvalue().removesuffix('\\n').replace(message, indented(message)))"):
        "what click says of a call, with a harmless message",
    ("conformance/suite/test_conformance.py",
     "pytest.fail('\\n\\n'.join((_told(conformance, name, one) for one in news)), pytrace=False)"):
        "`_told` returns lines that are harmless",
}  # fmt: skip
"""How calls begin that print what another place has made harmless, each with the reason."""


def harmless_names(tree: ast.Module) -> frozenset[str]:
    """The names under which a module has the functions of the place."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == PLACE
        for alias in node.names
    )


def is_harmless(node: ast.expr | None, names: frozenset[str]) -> bool:
    """Whether an expression is a literal or goes through the place, whatever the data is."""
    match node:
        case None | ast.Constant():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in names
        case ast.Name(id=name):
            return name.isupper()  # a constant of the suite
        case ast.JoinedStr(values=values):
            return all(is_harmless(one, names) for one in values)
        case ast.FormattedValue(value=value, format_spec=spec):
            return is_harmless(value, names) or _is_of_a_number(spec)
        case ast.IfExp(body=body, orelse=other):
            return is_harmless(body, names) and is_harmless(other, names)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_harmless(left, names) and is_harmless(right, names)
    return False


def _is_of_a_number(spec: ast.expr | None) -> bool:
    match spec:
        case ast.JoinedStr(values=[ast.Constant(value=str(text))]):
            return text[-1:] in ",dgfe%"
    return False


def ways_out(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the call and the reason of each call that prints text that nothing has made harmless."""
    tree = ast.parse(source)
    names = harmless_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rich":
            for alias in node.names:
                if alias.name not in OF_RICH:
                    yield node.lineno, ast.unparse(node), "rich may read markup in it, or print it"
        elif isinstance(node, ast.Import) and any(one.name.partition(".")[0] == "rich" for one in node.names):
            yield node.lineno, ast.unparse(node), "name what is needed of rich"
        elif isinstance(node, ast.Call) and (why := _why_not(node, names)) is not None:
            yield node.lineno, ast.unparse(node), why


def _why_not(call: ast.Call, names: frozenset[str]) -> str | None:
    what = ast.unparse(call.func)
    receiver, _, method = what.rpartition(".")
    if what in FORBIDDEN or method in ("echo", "secho", "from_markup", "from_ansi"):
        return "it prints text as it is, or reads markup in it"
    if what == "TextColumn" and not any(
        one.arg == "markup" and ast.unparse(one.value) == "False" for one in call.keywords
    ):
        return "it reads markup unless it is told"
    if what == "print":
        return None if all(is_harmless(one, names) for one in call.args) else "an argument is not made harmless"
    if method == "print" and receiver != "super()":
        return None if receiver.removeprefix("self.") in CONSOLES else "this may not be a CarefulConsole"
    if method in OTHERS_OF_A_CONSOLE and receiver in CONSOLES:
        return "this method of a console does not make text harmless"
    if method == "print_lines":
        return None if is_harmless(call.args[0], names) else "text in it may have line breaks of its own"
    if method in SAYING and receiver in ("pytest", "warnings"):
        said = [*call.args[:1], *(one.value for one in call.keywords if one.arg in ("reason", "msg"))]
        return None if all(is_harmless(one, names) for one in said) else "it prints its argument as it is"
    if what in ("sys.exit", "SystemExit"):
        return "it prints a text" if any(isinstance(one, ast.JoinedStr) for one in call.args) else None
    if method in WRITING and receiver in TERMINALS:
        return None if all(is_harmless(one, names) for one in call.args) else "an argument is not made harmless"
    if method == "write" and receiver == "os":
        return "this is a terminal" if ast.unparse(call.args[0]) in ("1", "2") else None
    if method in ("write", "writelines", "write_line", "write_sep") and receiver not in ("", *NOT_PRINTED):
        return "nobody has said that this does not lead to a terminal"
    if method in ("debug", "info", "warning", "error", "critical", "exception") and "log" in receiver.lower():
        return "what is logged is printed as it is"
    return None


def test_what_is_printed_is_a_literal_or_made_harmless():
    found = [(name, *one) for name in SOURCES for one in ways_out((ROOT / name).read_text(encoding="utf-8"))]
    assert [one for one in found if not _was_looked_at(one[0], one[2])] == []


def test_every_call_that_was_looked_at_is_still_there():
    there = {(name, call) for name in SOURCES for _, call, _ in ways_out((ROOT / name).read_text(encoding="utf-8"))}
    assert [
        key for key in LOOKED_AT if not any(name == key[0] and call.startswith(key[1]) for name, call in there)
    ] == []


def _was_looked_at(name: str, call: str) -> bool:
    return any(name == where and call.startswith(begins) for where, begins in LOOKED_AT)


def test_there_is_no_console_but_the_careful_one():
    """A parameter for a console of rich stands only in the two methods by which rich shows an object."""
    found = []
    for name in SOURCES:
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__rich_"):
                if any(one.annotation and ast.unparse(one.annotation) == "Console" for one in node.args.args):
                    found.append((name, node.name))
            elif isinstance(node, ast.ClassDef) and "Console" in map(ast.unparse, node.bases):
                found.append((name, node.name))
    assert found == [("conformance/reporting/console.py", "CarefulConsole")]


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_takes_text_for_markup(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for way in ("|safe", "| safe", "autoescape", "|forceescape", "{% raw", "<script", "|tojson"):
        assert way not in text


def test_only_the_page_says_that_text_is_markup():
    """That is the style, and a paragraph of the specification."""
    found = {name: (ROOT / name).read_text(encoding="utf-8").count("Markup(") for name in SOURCES}
    assert {name: count for name, count in found.items() if count} == {"conformance/reporting/page.py": 2}


@pytest.mark.parametrize(
    "source",
    [
        "print(name)",
        "print('a', f'{name}')",
        "print(f'{error!r}', file=sys.stderr)",
        "sys.stderr.write(text)",
        "sys.stdout.writelines(lines)",
        "os.write(2, data)",
        "terminalreporter.section(name)",
        "terminalreporter.write_line(name)",
        "stream2.write(text)",
        "click.echo('a')",
        "pytest.fail(f'{one.ticket}')",
        "pytest.skip(reason=text)",
        "warnings.warn(str(error), stacklevel=2)",
        "logging.warning(text)",
        "self._logger.info(text)",
        "sys.exit(f'{error}')",
        "traceback.print_exc()",
        "console.rule(name)",
        "console.log(name)",
        "out.print_lines(text)",
        "screen.print(text)",
        "Console().print(text)",
        "TextColumn('{task.description}')",
        "Text.from_markup(name)",
        "from rich.panel import Panel",
        "from rich import print",
        "import rich",
    ],
)
def test_a_new_way_out_is_found(source):
    assert list(ways_out(source))


@pytest.mark.parametrize(
    "source",
    [
        "print('a', 'b', end='')",
        f"from {PLACE} import neutral_line\nprint(neutral_line(name), file=sys.stderr)",
        f"from {PLACE} import neutral_line as line\npytest.fail('a ' + line(name))",
        "print(f'{count:,} of {total:,}, {share:.1f}')",
        "pytest.fail(ADVICE)",
        "console.print(name)",
        "sys.exit(status)",
        "file.write(text)",
    ],
)
def test_what_is_harmless_is_let_through(source):
    assert list(ways_out(source)) == []
