"""Processes that the lab starts for modules of its own: how it runs one, and how one ends when the lab has ended."""
