"""Builds: what has changed since the last one is read, made, checked, written and published.

`plan.py` finds what is dirty, `unit.py` makes the tables of some units, `run.py` is one build from beginning to end,
`watch.py` repeats it. Only what is published counts: a build that dies anywhere leaves the one before.
"""
