"""The tests that an implementer runs: `pytest --pyargs conformance.suite --implementation my_adapter:MyEngine`."""
