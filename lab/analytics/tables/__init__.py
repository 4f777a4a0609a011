"""What the tables of the pipeline are: data and plain functions, without a session, a path or a JVM.

A table is a `Table` in a module of `bronze`, `silver` or `gold`, beside the function that makes its rows:

    FAILOVERS = Table(
        name="gold.failovers", unit="branch", key=("topic", "partition", "leader_epoch"),
        needs=("silver.leader_epochs", "silver.faults"),
        columns=(c("topic", STRING, "the topic"), c("lost_us", BIGINT, "when the old leader stopped responding"), ...),
        checks=(ordered("lost_us", "elected_us"), not_null("elected_us")),
        make=failovers, small=True,
    )
    def failovers(t: Tables) -> DataFrame: ...

A test runs it on a few rows with `tests/support/analytics/made_tables.py`. `registry.py` finds it there; nothing else
lists tables. A function gets `Tables` and returns a DataFrame with the declared columns; the build selects them by
name, casts them, sorts by `order`, checks and writes.

**Units.** The unit is what is built, replaced and read as a whole:

* `branch`: a branch of a run. The function works on many branches at once: every frame that it gets, and the one that
  it returns, has `branch_no int` (`BRANCH`), by which it joins and groups. `run` and `branch` are not declared and not
  seen: the build puts them in place of `branch_no` when it writes. Keys are unique within a branch.
* `log`: a log of acts, of a class or of one learner; declares a column `log`.
* `class`: a class; declares a column `class`.
* `study`: a study; declares a column `study`. `manage.py study` writes its rows, not the build.
* `all`: one table over everything.

**Needs.** A need of the same unit is given for the units that are built; a need of another unit is given whole, as it
is stored (tables of branches then have `run` and `branch`). `t.failovers` is the needed table `silver.failovers` or
`gold.failovers`; `t["bronze.acts"]` where a short name is not enough.

**Events.** `kinds` lists the kinds of events that a table of unit `branch` reads; `t.kind("LogOpened")` gives them with
`branch_no, seq, at_us, node, cause_seq` and one column for each field (int: bigint, str: string, bool: boolean, lists
of those: arrays, anything else: variant). A field hides a head column of its name: `node` of NodeAdded is the node that
was added. A kind that never occurred gives an empty frame. `t.kind("ZnodeCreated", "ZnodeChanged")` gives the events of
both with a column `kind`: one frame costs less than two in a union.

**Per event or per branch.** A table `per_event=True` declares `seq` and `at_us`, is made of the events that are new,
row by row (no window, no join with earlier events), and is appended to. Any other table is rebuilt from the whole past
of the branch: then events and per-event tables contain those of its ancestors up to the fork, under its own
`branch_no`.

`t.branches` has a row for each branch that is built: `branch_no, run, branch, parent, parent_seq, last_seq, last_at_us,
era, seed, brokers, config (variant), learner, class, lesson`. Rows of a branch's own events have `seq > parent_seq`.
Where only one branch is built, `t.only` is its row, so that constants can take the place of a join.
"""

from lab.analytics.tables.checks import Check, Severity, between, holds, not_null, one_of, ordered
from lab.analytics.tables.columns import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    VARIANT,
    Column,
    array,
    c,
    map_of,
    struct,
)
from lab.analytics.tables.given import BRANCH, BRANCH_COLUMNS, Tables
from lab.analytics.tables.table import Layer, Table, TableError, Unit

__all__ = [
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "BRANCH",
    "BRANCH_COLUMNS",
    "DOUBLE",
    "INT",
    "STRING",
    "VARIANT",
    "Check",
    "Column",
    "Layer",
    "Severity",
    "Table",
    "TableError",
    "Tables",
    "Unit",
    "array",
    "between",
    "c",
    "holds",
    "map_of",
    "not_null",
    "one_of",
    "ordered",
    "struct",
]
