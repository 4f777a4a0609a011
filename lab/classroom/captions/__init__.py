"""Captions of a class: what was said, in words, as WebVTT."""
