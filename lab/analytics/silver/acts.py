"""What people did, in classes and alone: one row per act, from all logs."""

from typing import TYPE_CHECKING

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from lab.analytics.tables import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Table, Tables, array, c, not_null, one_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _not_made(t: Tables) -> "DataFrame":
    raise NotImplementedError("acts are read from logs")


LOG = c("log", STRING, "the log of a class or of a learner", personal=True)
LEARNER = c("learner", STRING, "pseudonym of the learner", personal=True)
CLASS = c("class", STRING, "the class; empty outside of classes")
LESSON = c("lesson", STRING, "slug of the lesson")

BRONZE = Table(
    name="bronze.acts",
    unit="log",
    key=("log", "seq"),
    small=True,
    columns=(
        LOG,
        c("seq", BIGINT, "the act's place in its log"),
        c("at_ms", BIGINT, "wall time"),
        c("class_us", BIGINT, "class time"),
        c("who", STRING, "pseudonym of the actor; room: no person", personal=True),
        c("kind", STRING, "its kind"),
        CLASS,
        c("scope", STRING, "class, or private: in no table of a class"),
        c("payload", STRING, "its fields, as JSON, with pseudonyms for people", personal=True),
    ),
    checks=(one_of("scope", "class", "private"),),
    make=_not_made,
    doc="An act as it was written to the log of a class or of a learner.",
)


def _field(name: str, type: str = "string") -> Column:
    return F.get_json_object("payload", f"$.{name}").try_cast(type)


def acts(t: Tables) -> "DataFrame":
    is_class = F.col("class_us").isNotNull()
    # A class goes from lesson to lesson: an act is of the one that began last before it.
    began = t.acts.where("kind IN ('ClassOpened', 'LessonBegan')").select(
        F.col("log").alias("of"),
        F.col("seq").alias("from"),
        F.coalesce(_field("lesson"), _field("chapter")).alias("chapter"),
        F.lead("seq").over(Window.partitionBy("log").orderBy("seq")).alias("to"),
    )
    is_in = (F.col("log") == F.col("of")) & (F.col("seq") >= F.col("from"))
    is_in &= F.col("to").isNull() | (F.col("seq") < F.col("to"))
    named = F.coalesce(_field("p"), _field("voter"))
    rows = t.acts.join(F.broadcast(began), is_in, "left")
    return rows.select(
        "log", "seq",
        F.when(is_class, F.coalesce(named, F.nullif("who", F.lit("")))).otherwise(F.col("who")).alias("learner"),
        "class",
        F.when(is_class, F.col("chapter")).otherwise(_field("lesson")).alias("lesson"),
        _field("content_version").alias("content"),
        _field("step").alias("step"),
        "kind",
        F.coalesce(_field("choice"), _field("answer")).alias("choice"),
        F.when(is_class, F.when(_field("sure", "int") >= 0, _field("sure", "double") / 100))
        .otherwise(F.nullif(_field("p", "double"), F.lit(0.0))).alias("p"),
        _field("choices", "int").alias("choices"),
        # The right answer of a poll, if it was known when the poll was made.
        F.coalesce(_field("outcome"), F.when(F.col("kind") == "PollMade", F.nullif(_field("right"), F.lit(""))))
        .alias("outcome"),
        F.when(F.col("kind") != "PollMade", _field("right", "boolean")).alias("right"),
        _field("brier", "double").alias("brier"),
        F.nullif(_field("misconception"), F.lit("")).alias("misconception"),
        F.from_json(_field("tags"), "array<string>").alias("tags"),
        _field("wrong").alias("wrong"),
        F.coalesce(_field("attempt", "int"), F.when(_field("step").isNotNull() & ~is_class, F.lit(1))).alias("attempt"),
        F.coalesce(_field("hint", "int"), _field("hints", "int")).alias("hint"),
        F.coalesce(_field("part", "int"), F.when(F.col("kind").isin("LessonStarted", "LessonFinished"), 1))
        .alias("part"),
        F.coalesce(_field("parts", "int"), F.when(F.col("kind") == "LessonFinished", 1)).alias("parts"),
        F.coalesce(_field("why"), _field("state")).alias("why"),
        _field("poll", "int").alias("poll"), _field("round", "int").alias("round"),
        "at_ms", "class_us",
        F.coalesce(_field("lab"), F.concat_ws("/", F.nullif(_field("run"), F.lit("")), _field("branch"))).alias("lab"),
        _field("seq", "bigint").alias("lab_seq"),
        _field("at_us", "bigint").alias("lab_at_us"),
        "scope",
    )  # fmt: skip


ACTS = Table(
    name="silver.acts",
    unit="log",
    key=("log", "seq"),
    needs=("bronze.acts",),
    small=True,
    columns=(
        LOG,
        c("seq", BIGINT, "the act's place in its log"),
        LEARNER,
        CLASS,
        LESSON,
        c("content", STRING, "digest of the lesson's content"),
        c("step", STRING, "the step's id; in the log of a class its number"),
        c("kind", STRING, "the kind of act or result"),
        c("choice", STRING, "the choice or the answer"),
        c("p", DOUBLE, "confidence", unit="0..1"),
        c("choices", INT, "number of choices"),
        c("outcome", STRING, "the outcome"),
        c("right", BOOLEAN, "whether the answer was right"),
        c("brier", DOUBLE, "score over all choices: 0 is best"),
        c("misconception", STRING, "tag of the wrong choice taken or of the wrong state"),
        c("tags", array(STRING), "tags of all wrong choices that were offered"),
        c("wrong", STRING, "the wrong state of the cluster"),
        c("attempt", INT, "number of the attempt at the step, from 1"),
        c("hint", INT, "the hint that was opened, or the number opened before"),
        c("part", INT, "part of the lesson"),
        c("parts", INT, "number of parts of the lesson"),
        c("why", STRING, "reason of its start or end"),
        c("poll", INT, "number of the poll"),
        c("round", INT, "round of the poll"),
        c("at_ms", BIGINT, "wall time"),
        c("class_us", BIGINT, "class time"),
        c("lab", STRING, "run and branch of the lab", personal=True),
        c("lab_seq", BIGINT, "the last event of the lab then"),
        c("lab_at_us", BIGINT, "simulated time of the lab then"),
        c("scope", STRING, "class, or private: in no table of a class"),
    ),
    checks=(not_null("kind", "at_ms"),),
    make=acts,
    doc="An act of a learner, in a class or outside of one, with its result.",
)
