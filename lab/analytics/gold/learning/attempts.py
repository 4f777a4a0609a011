"""Attempts at lessons, with their steps and wrong states. One unit per log."""

from typing import TYPE_CHECKING

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from lab.analytics.silver.acts import CLASS, LEARNER, LESSON, LOG
from lab.analytics.tables import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Table, Tables, between, c, not_null, one_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAUSE_MS = 120_000
"""Longer gaps between acts do not count as work."""
_ANSWERS = ("PredictionSettled", "AnswerGiven")
_NOT_OF_LESSONS = ("ReviewAsked", "ReviewAnswered", "ChallengeJudged")
ATTEMPT = c("attempt", STRING, "learner, lesson and number of the attempt", personal=True)


def _of_attempts(acts: "DataFrame") -> "DataFrame":
    """The acts of learners' own logs in lessons, each with its attempt; each start of part 1 begins one."""
    rows = acts.where(F.col("class_us").isNull() & F.col("lesson").isNotNull() & ~F.col("kind").isin(*_NOT_OF_LESSONS))
    before = Window.partitionBy("log", "lesson").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    starts = F.sum(F.when((F.col("kind") == "LessonStarted") & (F.col("part") == 1), 1).otherwise(0)).over(before)
    number = F.greatest(starts, F.lit(1))
    return rows.withColumn("number", number).withColumn(
        "name", F.concat_ws("/", "learner", "lesson", number.cast("string"))
    )


def _brings_step() -> Column:
    """Whether an act completes a step."""
    kind = F.col("kind")
    return kind.isin("StepChecked", "PredictionSettled") | ((kind == "AnswerGiven") & F.col("right"))


def _first(value: str, condition: Column) -> Column:
    return F.min_by(F.when(condition, F.col(value)), F.when(condition, F.col("seq")))


def attempts(t: Tables) -> "DataFrame":
    rows = _of_attempts(t.acts)
    order = Window.partitionBy("log", "name").orderBy("seq")
    gap_ms = F.col("at_ms") - F.lag("at_ms").over(order)
    rows = rows.withColumn("worked_ms", F.when(gap_ms.between(0, PAUSE_MS), gap_ms).otherwise(0))
    kind, is_answer = F.col("kind"), F.col("kind").isin(*_ANSWERS)
    # An attempt that is followed by another one has ended.
    later = F.max("number").over(Window.partitionBy("log", "lesson"))
    rows = rows.withColumn("is_last", F.col("number") == later)
    # The first answer to each step counts.
    place = F.row_number().over(Window.partitionBy("log", "name", "step", is_answer).orderBy("seq"))
    rows = rows.withColumn("is_first", is_answer & (place == 1))
    is_done = (kind == "LessonFinished") & (F.col("part") == F.col("parts"))
    found = rows.groupBy("log", "learner", "lesson", "name").agg(
        F.max("class").alias("class"),
        F.max("content").alias("content"),
        F.max_by("lab", F.when(F.col("lab") != "", F.col("seq"))).alias("branch_name"),
        F.min("at_ms").alias("began_ms"),
        F.max("at_ms").alias("ended_ms"),
        F.when(F.max(is_done), "finished").when(F.max("is_last"), "open").otherwise("left").alias("state"),
        F.sum("worked_ms").alias("worked_ms"),
        F.count_if(kind == "LessonReset").alias("resets"),
        F.count_if(kind == "HintShown").alias("hints"),
        F.count_distinct(F.when(_brings_step(), F.col("step"))).alias("steps_done"),
        F.count_if(F.col("is_first") & F.col("right")).alias("right_first"),
        F.avg(F.when(F.col("is_first"), F.col("brier"))).alias("brier"),
    )
    found = found.join(_away(t, rows), ["log", "name"], "left")
    found = found.withColumn("active_s", (F.col("worked_ms") - F.coalesce("away_ms", F.lit(0))) / 1_000)
    return found.withColumnRenamed("name", "attempt").withColumnRenamed("branch_name", "lab")


def _away(t: Tables, rows: "DataFrame") -> "DataFrame":
    """The time of each attempt, `away_ms`, that counts as work, but in which its class was held, paused or led."""
    worked = rows.where("worked_ms > 0").select(
        "log", "name", "class", "learner", (F.col("at_ms") - F.col("worked_ms")).alias("since_ms"), "at_ms"
    )
    during = worked.join(F.broadcast(t.away), ["class", "learner"])
    ends_ms = F.least("at_ms", F.coalesce("to_ms", "at_ms"))
    shared_ms = F.greatest(F.lit(0), ends_ms - F.greatest("since_ms", "from_ms"))
    return during.groupBy("log", "name").agg(F.sum(shared_ms).alias("away_ms"))


ATTEMPTS = Table(
    name="gold.attempts",
    unit="log",
    key=("attempt",),
    needs=("silver.acts", "silver.away"),
    small=True,
    columns=(
        LOG, ATTEMPT, LEARNER, CLASS, LESSON,
        c("content", STRING, "digest of the lesson's content"),
        c("lab", STRING, "run and branch of the attempt", personal=True),
        c("began_ms", BIGINT, "wall time of its first act"),
        c("ended_ms", BIGINT, "wall time of its last act"),
        c("state", STRING, "finished, open, or left for a later attempt"),
        c("active_s", DOUBLE, "time between acts, without gaps over 120 s, and without time in which the class was "
          "paused or held, or a presenter was followed"),
        c("resets", BIGINT, "number of restarts"),
        c("hints", BIGINT, "number of opened hints"),
        c("steps_done", BIGINT, "number of completed steps"),
        c("right_first", BIGINT, "number of right first answers"),
        c("brier", DOUBLE, "mean score of the first predictions: 0 is best"),
    ),
    checks=(one_of("state", "finished", "open", "left"), not_null("learner", "lesson"), between("brier", 0, 2)),
    make=attempts,
    doc="An attempt of a learner at a lesson.",
)  # fmt: skip


def attempt_steps(t: Tables) -> "DataFrame":
    rows = _of_attempts(t.acts).where(F.col("step").isNotNull())
    kind = F.col("kind")
    is_answer, is_hint = kind.isin(*_ANSWERS), kind == "HintShown"
    is_done = _brings_step()
    is_reply = kind.isin("PredictionGiven", "AnswerGiven")
    answered = F.min(F.when(is_reply, F.col("seq"))).over(Window.partitionBy("log", "name", "step"))
    rows = rows.withColumn("is_before", is_hint & (answered.isNull() | (F.col("seq") < answered)))
    rows = rows.withColumn("mistake", F.when(~F.col("right"), F.col("misconception")))
    found = rows.groupBy("log", "learner", "lesson", "name", "step").agg(
        F.max("class").alias("class"),
        F.max("content").alias("content"),
        F.min("at_ms").alias("began_ms"),
        _first("at_ms", is_done).alias("reached_ms"),
        _first("lab_at_us", is_done).alias("reached_at_us"),
        _first("lab_seq", is_done).alias("lab_seq"),
        F.max(F.when(F.col("lab") != "", F.col("lab"))).alias("lab"),
        ((_first("at_ms", is_done) - F.min("at_ms")) / 1_000).alias("spent_s"),
        F.coalesce(F.max("attempt"), F.lit(1)).alias("tries"),
        F.count_if(is_hint).alias("hints"),
        F.count_if(F.col("is_before")).alias("hints_before"),
        F.coalesce(F.max(kind == "StepSkipped"), F.lit(False)).alias("skipped"),
        _first("choice", is_answer).alias("choice"),
        _first("p", is_answer).alias("p"),
        _first("choices", is_answer).alias("choices"),
        _first("outcome", is_answer).alias("outcome"),
        _first("right", is_answer).alias("right"),
        _first("brier", is_answer).alias("brier"),
        _first("mistake", is_answer).alias("misconception"),
        _first("tags", is_answer).alias("tags"),
    )
    return found.withColumnRenamed("name", "attempt")


STEPS = Table(
    name="gold.attempt_steps",
    unit="log",
    key=("attempt", "step"),
    needs=("silver.acts",),
    small=True,
    columns=(
        LOG, ATTEMPT, LEARNER, CLASS, LESSON,
        c("content", STRING, "digest of the lesson's content"),
        c("step", STRING, "the step's id"),
        c("began_ms", BIGINT, "wall time of the first act at the step"),
        c("reached_ms", BIGINT, "wall time of its completion"),
        c("reached_at_us", BIGINT, "simulated time then"),
        c("lab_seq", BIGINT, "the last event of the lab then"),
        c("lab", STRING, "run and branch", personal=True),
        c("spent_s", DOUBLE, "from the first act to its completion"),
        c("tries", INT, "number of attempts at the step"),
        c("hints", BIGINT, "number of opened hints"),
        c("hints_before", BIGINT, "number of them before the first answer"),
        c("skipped", BOOLEAN, "whether the learner skipped it"),
        c("choice", STRING, "the first answer"),
        c("p", DOUBLE, "confidence", unit="0..1"),
        c("choices", INT, "number of choices"),
        c("outcome", STRING, "the outcome"),
        c("right", BOOLEAN, "whether the first answer was right"),
        c("brier", DOUBLE, "its score: 0 is best"),
        c("misconception", STRING, "tag of the first answer if it was wrong"),
        c("tags", "array<string>", "tags of all wrong choices that were offered"),
    ),
    checks=(between("p", 0, 1), between("brier", 0, 2)),
    make=attempt_steps,
    doc="A step in an attempt, with its first answer.",
)  # fmt: skip


def wrong_states(t: Tables) -> "DataFrame":
    rows = _of_attempts(t.acts).where("kind = 'WrongStateShown'")
    found = rows.groupBy("log", "learner", "class", "lesson", "name", "step", "wrong").agg(
        F.max("misconception").alias("misconception"),
        F.min_by("lab", "seq").alias("lab"),
        F.min_by("lab_seq", "seq").alias("first_seq"),
        F.min_by("lab_at_us", "seq").alias("first_at_us"),
        F.count("*").alias("times"),
    )
    return found.withColumnRenamed("name", "attempt").withColumnRenamed("wrong", "state")


WRONG_STATES = Table(
    name="gold.wrong_states",
    unit="log",
    key=("attempt", "step", "state", "class"),
    needs=("silver.acts",),
    small=True,
    columns=(
        LOG, ATTEMPT, LEARNER, CLASS, LESSON,
        c("step", STRING, "the step's id"),
        c("state", STRING, "the wrong state's id"),
        c("misconception", STRING, "its tag"),
        c("lab", STRING, "run and branch", personal=True),
        c("first_seq", BIGINT, "the event of the lab at which it was first seen"),
        c("first_at_us", BIGINT, "simulated time then"),
        c("times", BIGINT, "number of occurrences"),
    ),
    make=wrong_states,
    doc="A wrong state that the cluster of an attempt reached.",
)  # fmt: skip
