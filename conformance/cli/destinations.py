"""Options that name a file or a folder to be written: it is tried when the options are read, before a long search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from conformance.cli.child import Child
from conformance.system.places import trouble_with_file, trouble_with_folder, trouble_with_kept_file


class _Destination(click.ParamType):  # type: ignore[type-arg]  # older releases of click have no argument there
    """A path at which something will be written."""

    name = "path"

    def __init__(self, trouble: Callable[[Path], str | None]) -> None:
        self._trouble = trouble

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path. Fails if nothing could be written there."""
        path = Path(value)
        child = None if ctx is None else ctx.find_object(Child)
        if child is not None:
            path = child.place(path)
        trouble = self._trouble(path)
        if trouble is not None:
            self.fail(trouble, param, ctx)
        return path


TO_FILE, TO_FOLDER = _Destination(trouble_with_file), _Destination(trouble_with_folder)
"""The types of such options. A stream that is open is a file, too: /dev/stdout, or >(COMMAND) of a shell."""
TO_KEPT_FILE = _Destination(trouble_with_kept_file)
"""The type of an option for a file that is written several times, which a stream cannot be."""
