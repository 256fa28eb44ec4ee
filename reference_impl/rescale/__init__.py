"""What becomes of channel state when a job changes its parallelism: key groups, mappers, state assignment."""
