"""Captions of a class, as WebVTT."""
