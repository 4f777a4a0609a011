"""Guided exercises: content with a compiler, checked against the view while a learner works on them."""
