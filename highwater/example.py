# %% [markdown]
"""What two settings did.

A notebook in the form of a script: each part after `# %%` is a cell, for Jupyter by jupytext, for VS Code and others as
it is. It needs a lab whose studies have run (`manage.py study FILE`), and starts neither Django nor Spark.
"""

# %%
import os

import highwater

hw = highwater.open(os.environ.get("HIGHWATER_DATA", "data"))
print(f"build {hw.build}, {len(hw.tables())} tables")

# %% [markdown]
# Tables describe their columns, with units.

# %%
for name, said in hw.columns("gold.study_points").items():
    print(f"{name:<12}{said}")

# %% [markdown]
# The medians of a measure with their intervals, as they are stored.

# %%
points = hw.table("gold.study_points").to_pylist()
for point in points:
    settings = ", ".join(f"{name} {value}" for name, value in sorted(point["settings"]))
    said = f"{point['median']:g} [{point['low']:g}, {point['high']:g}]"
    print(f"{point['study']}, {settings}: {point['measure']} {said}")

# %% [markdown]
# Two sets of clusters, paired by seed: how much less, and in how many of the pairs.

# %%
cells = [cell for cell in hw.table("gold.study_cells").to_pylist() if cell["state"] == "finished"]
by_point: dict[int, dict[int, float]] = {}
for cell in cells:
    value = dict(cell["values"])["produce_requests"]
    by_point.setdefault(cell["point"], {})[cell["seed"]] = value
first, last = by_point[min(by_point)], by_point[max(by_point)]
fewer = [seed for seed in sorted(first.keys() & last.keys()) if last[seed] < first[seed]]
print(f"fewer requests in {len(fewer)} of {len(first.keys() & last.keys())} pairs")
