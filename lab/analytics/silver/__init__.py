"""Silver: one table for each concept of a cluster, made of the typed events of runs.

A function gets the events of its kinds (`t.kind("LogOpened")`) and the tables that it needs, all with `branch_no`, and
returns rows; it joins and groups by `branch_no` and reads neither text for people nor values that are not fields.
"""
