"""The lab's tables for notebooks and scripts: what was recorded, and what was measured of it.

    import highwater
    hw = highwater.open("data")              # the folder that HIGHWATER_DATA names
    hw.runs()                                # a row for each branch of a run, from gold.run_summary
    hw.table("gold.failovers", run="r7")     # stored rows, as a pyarrow Table
    hw.events("r7", kind="LogTruncated")     # recorded events with the fields of their kind
    hw.sql("select era, count(*) from gold.run_summary group by era")
    hw.figure("failovers", run="r7")         # a Plotly figure as JSON: {"data": [...], "layout": {...}}
    hw.compare(hw.runs(era="0.10"), hw.runs(era="3.9"), pair_by="seed")

Rows are read as they are stored: nothing here starts Spark. `manage.py analytics build` makes the tables.
"""

from highwater.errors import LabError
from highwater.lab import Lab, open_lab
from lab.analytics.compare import Difference

__all__ = ["Difference", "Lab", "LabError", "open"]

open = open_lab
