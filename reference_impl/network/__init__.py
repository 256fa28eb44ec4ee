"""What carries records: subpartitions, channels, buffers and gates."""
