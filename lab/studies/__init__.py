"""Studies: one workload on many simulated clusters that differ in a few settings, and what that does to a measure.

`compiler` reads a study's file, `cell` runs one cluster of it, `runner` all that are not finished, here or as tasks of
Spark; `summary` compares them. `docs/STUDIES.md` describes the file.
"""
