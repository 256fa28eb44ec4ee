"""The drainer of fetched channel state. Specification: drainer.md."""
