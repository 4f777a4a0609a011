"""Guided exercises: content with a compiler, checked against the view while somebody works on them."""
