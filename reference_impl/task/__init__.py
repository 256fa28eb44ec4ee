"""The task: its barrier handler, its part in a checkpoint, and its loop."""
