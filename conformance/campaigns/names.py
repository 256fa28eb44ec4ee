"""Where a campaign looks up what its plan, its blocks and its result call by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from conformance.components import COMPONENTS
from conformance.driver import Components
from conformance.ports import Implementation, find_implementation

Find = Callable[[str], Implementation]
"""How implementations are looked up by name."""


class Names(NamedTuple):
    """Where names of implementations and components are looked up. It pickles by name, so it may go to other processes.

    No file of a campaign holds it: whoever goes on with a campaign says anew what the names mean.
    """

    find: Find = find_implementation
    components: Components = COMPONENTS


SUITE = Names()
"""What everybody who installs this suite can name."""
