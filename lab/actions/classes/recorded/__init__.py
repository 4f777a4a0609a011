"""Additions to recorded classes, and recorded lessons."""
