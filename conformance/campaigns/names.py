"""Looks up the implementations and components that a plan, a block or a result names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

from conformance.components import COMPONENTS
from conformance.driver import Components, Defined
from conformance.engines.apart import find
from conformance.ports import Implementation, find_implementation

EPISODE = "episode"
"""The component whose scenarios are whole jobs in processes of their own: two runs of one need not be alike."""

ADAPTER_SCHEME = "episodes:"
"""Begins the name of an engine behind an adapter, before the command of that."""

SEARCHED = COMPONENTS.extended(f"{__name__}:SEARCHED", Defined(EPISODE, "conformance.episodes"))
"""What a campaign searches: the components of the suite, and episodes, which no other search draws."""

Find = Callable[[str], Implementation]
"""Returns the implementation of a name."""


def name_of(found: Any) -> str:
    """Return the name `module:object` under which another process finds a class or a function.

    What `python -m` runs is `__main__` in its own process only.
    """
    module = found.__module__
    if module == "__main__" and (spec := sys.modules[module].__spec__) is not None:
        module = spec.name
    return f"{module}:{found.__qualname__}"


def object_of(name: str) -> Any:
    """Return what has a name `module:object`. Raises: whatever its module raises; AttributeError."""
    module, _, found = name.partition(":")
    return attrgetter(found)(import_module(module))


class Names(NamedTuple):
    """Where names of implementations and components are looked up. It is pickled by reference, for other processes.

    It is not written to the folder of a campaign: the caller passes it again to resume the campaign.
    """

    find: Find = find_implementation
    components: Components = SEARCHED

    @property
    def here(self) -> Names:
        """The same names for the process of the driver: it does not load what is not the suite's own."""
        if self.find is not find_implementation:
            return self
        return self._replace(find=partial(find, components=self.components))

    @property
    def finder(self) -> str:
        """The name `module:function` under which another process gets the function `find`."""
        return name_of(self.find)


SUITE = Names()
"""The registered implementations, and what a campaign searches."""
