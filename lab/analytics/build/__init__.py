"""Builds: changes since the last build are read, transformed, checked, written and published.

`plan.py` determines what is dirty, `unit.py` makes the tables of some units, `run.py` is one build from start to end,
`watch.py` repeats it. Only published files count: a build that fails at any point leaves the previous one in place.
"""
