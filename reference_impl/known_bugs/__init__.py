"""Known bugs of the reference, one file for each component: each is a change of a few lines of the reference's text.

`CATALOGUE` is registered as an entry point. A bug is built when it is asked for by name, and not before.
"""

from importlib.resources import files
from types import ModuleType

from conformance.ports import Implementation, KnownBug, read_known_bugs


def _make(package: ModuleType, name: str) -> Implementation:
    made: Implementation = package.Reference(name, package.PUSHED)
    return made


CATALOGUE: tuple[KnownBug, ...] = tuple(
    bug
    for file in sorted(files(__name__).iterdir(), key=lambda file: file.name)
    if file.name.endswith(".toml")
    for bug in read_known_bugs(file, "reference_impl", _make)
)

__all__ = ["CATALOGUE"]
