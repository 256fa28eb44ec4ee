"""What can go wrong with an exploration in a folder."""


class ExplorationError(Exception):
    """An exploration cannot be begun or continued. The text says why, and what would be right."""
