"""Copies of a package with changed lines: what fits, what is refused, and what is left behind."""

from __future__ import annotations

import sys
import traceback
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.ports.changed import DoesNotFit, Hunk, Package, changed, hunks

FILES = {
    "__init__.py": "from .inner.deep import answer\n\n\ndef late():\n    from .inner import deep\n\n    return deep\n",
    "inner/__init__.py": "",
    "inner/deep.py": "LIMIT = 3\n\n\ndef answer():\n    if LIMIT > 2:\n        return LIMIT\n    return 0\n",
    "known_bugs/__init__.py": "raise AssertionError('nobody imports this')\n",
}
FIVE = "--- inner/deep.py\n-LIMIT = 3\n+LIMIT = 5\n"


def write(folder: Path, name: str) -> None:
    for file, text in FILES.items():
        (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / file).write_text(text)


@pytest.fixture
def package(tmp_path, monkeypatch) -> Iterator[str]:
    """The name of a package in a folder of its own."""
    name = f"changing_{tmp_path.name.replace('-', '_')}"
    write(tmp_path, name)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for one in [one for one in sys.modules if one.partition(".")[0] == name]:
        del sys.modules[one]


def copy(package: str, diff: str):
    return changed(package, diff, ("known_bugs",))


def test_a_copy_has_the_change_and_the_original_has_not(package):
    assert copy(package, FIVE).answer() == 5
    assert copy(package, FIVE.replace("5", "7")).answer() == 7
    assert __import__(package).answer() == 3


def test_a_copy_without_a_change_is_a_copy_still(package):
    first, second = Package(package, ("known_bugs",)).copy({}), Package(package, ("known_bugs",)).copy({})
    assert first is not second
    assert first.answer() == second.answer() == 3


MANY = {
    "__init__.py": "from .user import far\nfrom .other import Same\n",
    "user.py": "from .inner import far\n",
    "other.py": "from . import lone\n\n\nclass Same(lone.Lone):\n    pass\n",
    "lone.py": "class Lone:\n    pass\n",
    "inner/__init__.py": "from .deep import answer as far\n",
    "inner/deep.py": FILES["inner/deep.py"],
    "inner/aside.py": "HERE = 1\n",
}


def test_a_copy_has_own_modules_for_what_uses_a_changed_file_and_shares_the_others(package, tmp_path):
    for file, text in MANY.items():
        (tmp_path / package / file).write_text(text)
    made, original = copy(package, FIVE), __import__(package)
    assert (made.far(), original.far()) == (5, 3)
    assert made.Same is original.Same
    assert made.inner is not original.inner
    assert original.inner.deep.LIMIT == 3
    lone = copy(package, "--- lone.py\n     pass\n+\n+\n+CHANGED = 1\n")
    assert lone.Same is not original.Same
    assert lone.far is original.far


def test_nothing_of_a_copy_is_left_behind(package):
    modules, path, finders = set(sys.modules), list(sys.path), list(sys.meta_path)
    copy(package, FIVE)
    assert {one for one in set(sys.modules) - modules if "@" in one} == set()
    assert (sys.path, sys.meta_path) == (path, finders)


def test_a_copy_that_cannot_be_imported_leaves_nothing_behind_either(package):
    modules, finders = set(sys.modules), list(sys.meta_path)
    with pytest.raises(ZeroDivisionError):
        copy(package, "--- inner/deep.py\n-LIMIT = 3\n+LIMIT = 3 / 0\n")
    assert {one for one in set(sys.modules) - modules if "@" in one} == set()
    assert sys.meta_path == finders


def test_a_late_import_fails_rather_than_find_the_unchanged_module(package):
    late = copy(package, FIVE).late
    with pytest.raises(ModuleNotFoundError):
        late()


def test_what_is_left_out_is_not_part_of_a_copy(package):
    with pytest.raises(AssertionError, match="nobody imports this"):
        changed(package, FIVE)
    assert not hasattr(copy(package, FIVE), "known_bugs")


def test_a_traceback_shows_the_changed_line(package):
    broken = copy(package, "--- inner/deep.py\n-        return LIMIT\n+        return LIMIT / 0  # here\n")
    with pytest.raises(ZeroDivisionError) as caught:
        broken.answer()
    text = "".join(traceback.format_exception(caught.value))
    assert "return LIMIT / 0  # here" in text
    assert "deep.py changed as" in text


def test_unchanged_files_keep_their_names(package):
    made = copy(package, FIVE)
    assert made.late.__code__.co_filename.endswith("__init__.py")


def test_a_package_in_a_zip_file_can_be_changed_too(tmp_path, monkeypatch):
    write(tmp_path / "tree", "zipped_package")
    with zipfile.ZipFile(tmp_path / "wheel.zip", "w") as archive:
        for file in FILES:
            archive.write(tmp_path / "tree" / "zipped_package" / file, f"zipped_package/{file}")
    monkeypatch.syspath_prepend(tmp_path / "wheel.zip")
    assert copy("zipped_package", FIVE).answer() == 5
    assert sorted(Package("zipped_package").files) == sorted(FILES)


def test_several_hunks_and_files_are_changed_one_after_another(package):
    diff = (
        "--- inner/deep.py\n-LIMIT = 3\n+LIMIT = 1\n@@ def answer\n-    return 0\n+    return LIMIT + 10\n"
        "--- __init__.py\n from .inner.deep import answer\n+\n+MARK = 4\n"
    )
    made = copy(package, diff)
    assert (made.answer(), made.MARK) == (11, 4)


def test_a_diff_is_hunks():
    diff = "\n--- a.py\n@@ def f\n one\n-two\n\n+three\n@@\n+four\n five\n--- b.py\n-six\n"
    assert hunks(diff) == (
        Hunk("a.py", "one\ntwo\n\n", "one\n\nthree\n"),
        Hunk("a.py", "five\n", "four\nfive\n"),
        Hunk("b.py", "six\n", ""),
    )


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        ("--- inner/deep.py\n-LIMIT = 4\n+LIMIT = 5\n", "0 times"),
        ("--- inner/deep.py\n     return 0\n", "must remove or add a line"),
        ("--- inner/deep.py\n-LIMIT\n+LIMIT = 5\n", "0 times"),
        ("--- __init__.py\n \n+\n", "3 times"),
        ("--- inner/deep.py\n+MORE = 1\n", "8 times"),
        ("--- nowhere.py\n-LIMIT = 3\n", "has no file 'nowhere.py'"),
        ("-LIMIT = 3\n", "below a line '--- FILE'"),
        ("--- inner/deep.py\nLIMIT = 3\n", "should begin with a blank"),
        ("--- inner/deep.py\n", "must remove or add a line"),
    ],
    ids=["absent", "no change", "part of a line", "ambiguous", "nowhere", "no file", "no header", "no mark", "empty"],
)  # fmt: skip
def test_what_does_not_fit_exactly_once_is_refused(package, diff, message):
    with pytest.raises(DoesNotFit, match=message):
        copy(package, diff)


def test_there_must_be_such_a_package():
    with pytest.raises(ModuleNotFoundError, match="no package 'no_such_package'"):
        Package("no_such_package")
    with pytest.raises(ModuleNotFoundError):
        Package("math")
