"""Results of studies. They are not in recordings: `manage.py study` simulates the clusters and writes these rows."""

from pyspark.sql import DataFrame

from lab.analytics.tables import BIGINT, DOUBLE, INT, STRING, Table, Tables, c, map_of

CELL_COLUMNS = (
    c("study", STRING, "the study's name"),
    c("point", INT, "the number of the combination of settings"),
    c("seed", BIGINT, "the seed of the cluster"),
    c("settings", map_of(STRING, STRING), "settings of the combination, era and fault included"),
    c("state", STRING, "finished, or stopped: a line failed or a limit was reached"),
    c("why", STRING, "why it was stopped"),
    c("digest", STRING, "the hash of all its events"),
    c("events", BIGINT, "events of the cluster"),
    c("simulated_us", BIGINT, "simulated time at its end"),
    c("values", map_of(STRING, DOUBLE), "measures by name, in the unit that the name ends in"),
)
POINT_COLUMNS = (
    c("study", STRING, "the study's name"),
    c("point", INT, "the number of the combination of settings"),
    c("measure", STRING, "the measure, in the unit that its name ends in"),
    c("settings", map_of(STRING, STRING), "settings of the combination, era and fault included"),
    c("runs", BIGINT, "number of clusters in which it could be measured"),
    c("median", DOUBLE, "the median over the seeds"),
    c("low", DOUBLE, "lower bound of the 95 % bootstrap interval of the median"),
    c("high", DOUBLE, "upper bound of the interval"),
    c("p05", DOUBLE, "5th percentile over the clusters"),
    c("p25", DOUBLE, "25th percentile over the clusters"),
    c("p75", DOUBLE, "75th percentile over the clusters"),
    c("p95", DOUBLE, "95th percentile over the clusters"),
    c("mean", DOUBLE, "the mean over the seeds"),
)


def no_cells(t: Tables) -> DataFrame:
    """No rows: recordings do not contain studies."""
    return t.branches.sparkSession.createDataFrame([], STUDY_CELLS.schema)


def no_points(t: Tables) -> DataFrame:
    """No rows: recordings do not contain studies."""
    return t.branches.sparkSession.createDataFrame([], STUDY_POINTS.schema)


STUDY_CELLS = Table(
    name="gold.study_cells", unit="study", key=("study", "point", "seed"), columns=CELL_COLUMNS, make=no_cells,
    small=True, doc="A simulated cluster of a study, written by `manage.py study`.",
)  # fmt: skip
STUDY_POINTS = Table(
    name="gold.study_points", unit="study", key=("study", "point", "measure"), columns=POINT_COLUMNS, make=no_points,
    small=True, doc="A measure over the seeds of one combination of settings, written by `manage.py study`.",
)  # fmt: skip
