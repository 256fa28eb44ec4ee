"""The spill store: fetched channel state in files. Specification: spill.md."""
