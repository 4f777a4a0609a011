"""Charts as Plotly figures: `{data, layout}`, plain JSON, made from rows of stored tables by pure functions.

`stored.py` lists them, each with the sentence that explains it and a table of the same facts. Colours are names of the
page's design tokens (`--leader`); a point that can be sought has its instant in microseconds and its event, where that
is known, as `customdata`. Imports nothing of Spark.
"""
