"""A changed copy of the reference is searched with one component, and its histories are compared with the reference's.

So a weak driver, which never comes to where a change matters, is told apart from a weak rule.
"""

from __future__ import annotations

from contextlib import closing

from msgspec import Struct

from conformance.campaigns.limit import limited
from conformance.components import COMPONENTS
from conformance.driver import Program, Run
from conformance.engines.compare import first_difference
from conformance.engines.interruption import Interruption, Unfinished
from conformance.engines.position import Follow
from conformance.engines.search import Search, seeds
from conformance.ports import UnusableImplementation, find_implementation
from conformance.ports.changes import changed_implementation
from reference_impl import reference_of

PACKAGE = "reference_impl"
SECONDS = 20
"""A scenario that takes so long does not end, however busy the machine is. The longest takes a tenth of a second."""
DOES_NOT_END = "does-not-end"
CANNOT_BE_LOADED = "cannot-be-loaded"


class DoesNotEnd(BaseException):
    """A scenario takes so long that it does not end. No copy of the reference takes it for an error of its own, as a
    task that fails and is restarted, and goes on."""


def bounded(search: Search, text: str, record: bool = False) -> Run | None:
    """Return the run of a scenario; None if it does not end. In an operation, it has crashed then."""
    try:
        with limited(SECONDS, DoesNotEnd):
            return search.run(text, record)[1]
    except DoesNotEnd:
        return None


class Seen(Struct, frozen=True):
    """What a search saw of a changed copy."""

    found_by: str = ""
    """The slug of the property that failed; one of the two above if no search could be made; empty: none failed."""
    scenarios: int = 0
    """How many were run, up to the first in which it failed."""
    differs: int = 0
    """The number, from 1, of the first scenario whose history is another than that of the reference; 0: none was seen.
    Where a property failed first, none was looked for."""
    broke: str = ""
    """The error with which the suite itself ended in the last of these scenarios; empty: it did not."""


class Sought(Struct, frozen=True):
    """The search for a change of the reference with the rules of one component, whose own change it need not be."""

    component: str
    change: str
    """A diff (`conformance.ports.changed`)."""
    seed: str
    scenarios: int
    compared: int = 0
    """The histories of so many scenarios are compared with the reference's, and the search ends behind them if all are
    the same; 0: none is compared."""

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return (self.component,)

    def do(self, interruption: Interruption, follow: Follow) -> Seen:
        """See `Work`. Raises: Unfinished."""
        try:
            made = changed_implementation(PACKAGE, self.change, reference_of, "changed")()
        except UnusableImplementation:
            raise  # the diff does not fit: a mistake of its author
        except Exception:  # a copy that cannot be imported is noticed by everyone
            return Seen(CANNOT_BE_LOADED)
        with closing(made) as implementation, closing(find_implementation("reference")) as reference:
            component = COMPONENTS[self.component]
            search = Search(Program(component, implementation))
            baseline = Search(Program(component, reference))
            differs, number = 0, 0
            for number, text in enumerate(seeds(self.seed, self.component, range(self.scenarios)), 1):
                if interruption.requested:
                    raise Unfinished
                comparing = not differs and number <= self.compared
                try:
                    run = bounded(search, text, comparing)
                except Exception as error:  # the suite's own: what an operation raises is judged
                    return Seen("", number, differs, f"{type(error).__name__}: {error}")
                if run is None:
                    return Seen(DOES_NOT_END, number, differs)
                if run.violation is not None:
                    return Seen(run.violation.property.slug, number, differs)
                if comparing and first_difference(baseline.run(text, record=True)[1], run) is not None:
                    differs = number
                if number == self.compared and not differs:
                    break
            return Seen("", number, differs)
