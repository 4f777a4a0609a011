"""Statistics of lessons for authors and teachers: over all learners, and only for groups of at least five."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lab.analytics.gold.learning.classes import STATISTICS, STEP, STOPS, by_stop, first_steps, statistics
from lab.analytics.silver.acts import LESSON
from lab.analytics.tables import BIGINT, STRING, Table, Tables, c, holds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MIN_LEARNERS = 5
_LARGE = f"learners >= {MIN_LEARNERS}"
_ENOUGH = holds("at least five learners", _LARGE)


def lesson_steps(t: Tables) -> "DataFrame":
    found = statistics(first_steps(t.attempt_steps))
    last = t.attempt_steps.groupBy("attempt", "lesson").agg(
        F.max_by("step", F.struct("began_ms", "step")).alias("step")
    )
    open_ones = t.attempts.where("state <> 'finished'").select("attempt")
    stopped = last.join(open_ones, "attempt").groupBy("lesson", "step").agg(F.count("*").alias("stopped"))
    found = found.where(_LARGE).join(stopped, ["lesson", "step"], "left").na.fill(0, ["stopped"])
    for share, count in (("right_with_hint", "with_hint"), ("right_without_hint", "without_hint")):
        found = found.withColumn(share, F.when(F.col(count) >= MIN_LEARNERS, F.col(share)))
    return found.withColumn("difficulty", F.when(F.col("n") >= MIN_LEARNERS, F.col("difficulty")))


STEPS = Table(
    name="gold.lesson_steps",
    unit="all",
    key=("lesson", "step"),
    needs=("gold.attempt_steps", "gold.attempts"),
    small=True,
    columns=(
        LESSON, STEP, *STATISTICS,
        c("stopped", BIGINT, "unfinished attempts whose last act was at this step"),
    ),
    checks=(_ENOUGH,),
    make=lesson_steps,
    doc="A step of a lesson over all learners: where learners stop, and the effect of hints.",
)  # fmt: skip


def lesson_wrong_states(t: Tables) -> "DataFrame":
    return (
        t.wrong_states.groupBy("lesson", "step", "state")
        .agg(
            F.max("misconception").alias("misconception"),
            F.count_distinct("learner").alias("learners"),
            F.sum("times").alias("times"),
        )
        .where(_LARGE)
    )


WRONG_STATES = Table(
    name="gold.lesson_wrong_states",
    unit="all",
    key=("lesson", "step", "state"),
    needs=("gold.wrong_states",),
    small=True,
    columns=(
        LESSON, STEP, c("state", STRING, "the wrong state's id"), c("misconception", STRING, "its tag"),
        c("learners", BIGINT, "number of learners whose cluster reached it"),
        c("times", BIGINT, "number of occurrences"),
    ),
    checks=(_ENOUGH,),
    make=lesson_wrong_states,
    doc="A wrong state of a step over all learners.",
)  # fmt: skip


def lesson_calibration(t: Tables) -> "DataFrame":
    return by_stop(t.acts, "lesson").where(_LARGE)


CALIBRATION = Table(
    name="gold.lesson_calibration",
    unit="all",
    key=("lesson", "stop"),
    needs=("silver.acts",),
    small=True,
    columns=(LESSON, *STOPS),
    checks=(_ENOUGH,),
    make=lesson_calibration,
    doc="Predictions in a lesson at one level of confidence, over all learners.",
)
