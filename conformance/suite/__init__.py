"""The tests that an implementer runs: `pytest --pyargs conformance.suite --implementation my_adapter:MyEngine`.

`judge` judges one scenario, for tests of one's own; `state_machine` is a stateful test of Hypothesis, and `relations`
are tests of what must change nothing.
"""

from importlib.util import find_spec

if find_spec("pytest") is None:
    raise ImportError(
        "The tests of the suite need pytest, which is not installed: pip install 'checkpoint-conformance[pytest]'. "
        "The command `conformance check` tests the same properties without it."
    )

from conformance.suite.judging import judge
from conformance.suite.machine_test import state_machine
from conformance.suite.relation_tests import relations

__all__ = ["judge", "relations", "state_machine"]
