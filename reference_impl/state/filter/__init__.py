"""The fetch of recovered channel state by a task, which filters it after a rescale: X1 to X28.

Specification: filter.md.
"""
