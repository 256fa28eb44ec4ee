"""Messages between a driver and its worker process: pickled, and read without importing what is not of the suite.

A worker runs code that the driver does not trust to load. So a message has only types that the driver has loaded, or
that belong to a component; in the place of any other object there is a text that shows it.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET

from conformance.driver import Components

_LENGTH = struct.Struct("<Q")
_SHOWN = 160
_PLAIN = (str, bytes, bool, int, float, complex, list, tuple, dict, set, frozenset, range)


class Wire:
    """Writes and reads messages. Their data types are those of the suite, and of the package of a component that is not
    of this suite."""

    def __init__(self, components: Components | None = None) -> None:
        """`components`: those whose scenarios are in the messages. None: no message has a scenario."""
        package = "" if components is None else components.where.partition(":")[0].partition(".")[0]
        self._packages = ("conformance", package) if package else ("conformance",)
        self._components = components

    def write(self, descriptor: int, message: Any) -> None:
        """Write a message. Raises: OSError if the other process has ended."""
        buffer = io.BytesIO()
        _Pickler(buffer, self._is_data).dump(message)
        data = memoryview(_LENGTH.pack(buffer.tell()) + buffer.getvalue())
        while data:
            data = data[os.write(descriptor, data) :]

    def read(self, descriptor: int) -> Any:
        """Wait for a message. Raises: EOFError if the other process has ended."""
        (length,) = _LENGTH.unpack(_read(descriptor, _LENGTH.size))
        return self.decoded(_read(descriptor, length))

    def split(self, received: bytearray) -> list[Any]:
        """Takes the complete messages from what was received. Raises: whatever pickle raises for what is no message."""
        found = []
        while len(received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
            if len(received) < end:
                break
            found.append(self.decoded(bytes(received[_LENGTH.size : end])))
            del received[:end]
        return found

    def decoded(self, data: bytes) -> Any:
        """Returns the message that was pickled."""
        return _Unpickler(io.BytesIO(data), self._found).load()

    def _found(self, module: str, name: str) -> Any:
        if module not in sys.modules and self._components is not None:
            self._components.need(module)
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not UNSET and not self._is_data(found):
            raise pickle.UnpicklingError(f"a message has a {module}.{name}")
        return found

    def _is_data(self, found: Any) -> bool:
        """Returns whether this is a class of data, of the suite or of the other package."""
        if not isinstance(found, type):
            return False
        structured = issubclass(found, msgspec.Struct | Enum | tuple) or is_dataclass(found)
        return found in _PLAIN or (structured and found.__module__.partition(".")[0] in self._packages)


def _read(descriptor: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = os.read(descriptor, count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, is_data: Callable[[Any], bool]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._is_data = is_data

    def reducer_override(self, obj: Any) -> Any:
        kind = obj if isinstance(obj, type) else type(obj)
        if kind is type(None) or obj is UNSET or self._is_data(kind):
            return NotImplemented
        shown: Callable[[Any], str] = repr
        try:
            text = shown(obj)
        except Exception:
            text = f"<{kind.__name__}>"
        return str, (text[:_SHOWN],)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, found: Callable[[str, str], Any]) -> None:
        super().__init__(file)
        self._found = found

    def find_class(self, module: str, name: str) -> Any:
        return self._found(module, name)
