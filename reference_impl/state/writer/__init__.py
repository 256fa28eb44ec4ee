"""The channel state writer. Specification: writer.md."""
