"""What the suite needs of the operating system: processes that leave nobody behind, folders, harmless text.

This room imports no other room, and every room may import it.
"""
