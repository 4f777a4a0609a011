"""Charts as Plotly figures: `{data, layout}`, plain JSON, made of rows by pure functions. Imports nothing of Spark.

`first.py` makes the four that a job answers as soon as events are read; `stored.py` lists those made of stored tables,
each with the sentence that explains it and a table of the same facts. Colours are names of the page's design tokens
(`--leader`); a point that can be sought has its instant in microseconds as `customdata`.
"""

from lab.analytics.figures.first import figures, internal_partitions

__all__ = ["figures", "internal_partitions"]
