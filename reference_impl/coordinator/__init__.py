"""The operator coordinator: the holder, the transport, and the gates of both directions."""
