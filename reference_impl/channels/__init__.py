"""The consumer's side of one channel: persister, buffer manager, recovered, local and remote channel."""
