"""Silver: one table for each concept of a cluster, made from the typed events of runs.

A function gets the events of its kinds (`t.kind("LogOpened")`) and the tables that it needs, all with `branch_no`, and
returns rows; it joins and groups by `branch_no`, and does not parse texts.
"""
