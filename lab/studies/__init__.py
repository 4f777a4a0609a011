"""Studies: one workload on many simulated clusters that differ in a few settings, and the effect on measures.

`compiler` reads a study's file, `cell` runs one cluster of it, `runner` runs all unfinished ones, in this process or as
Spark tasks; `summary` compares them. `docs/STUDIES.md` describes the file.
"""
