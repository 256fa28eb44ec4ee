"""What belongs to a checkpoint, and what is restored from one: persister, spill files, drainer, writer."""
