"""Difficulty, misconceptions and confidence in a class. One unit per class; private acts are excluded."""

from typing import TYPE_CHECKING

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from lab.analytics.silver.acts import CLASS, LESSON
from lab.analytics.tables import BIGINT, DOUBLE, INT, STRING, Table, Tables, array, between, c, map_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MIN_DISCRIMINATION = 20
"""With fewer learners the correlation is noise."""
SURE = 0.7
"""Confidence from which an answer counts as sure."""
BUCKET_S = 30
_ANSWERS = ("PredictionSettled", "AnswerGiven", "TransferAnswered")
STEP = c("step", STRING, "the step's id")


def in_class() -> Column:
    """Whether a row was made in a class."""
    return F.col("class") != ""


def first_steps(steps: "DataFrame", *keys: str) -> "DataFrame":
    """For each learner, the first time at a step."""
    order = Window.partitionBy(*keys, "learner", "lesson", "step").orderBy("began_ms", "attempt")
    return steps.withColumn("place", F.row_number().over(order)).where("place = 1").drop("place")


def statistics(first: "DataFrame", *keys: str) -> "DataFrame":
    """Statistics of the first answers to each question, by `keys`, lesson and step."""
    score = Window.partitionBy(*keys, "learner", "lesson")
    right = F.col("right").cast("int")
    rows = first.withColumn("rest", F.sum(right).over(score) - right)
    is_answered = F.col("right").isNotNull()
    correlation = F.corr(F.when(is_answered, right).cast("double"), F.when(is_answered, F.col("rest")).cast("double"))
    spent = F.when(F.col("reached_ms").isNotNull(), F.col("spent_s"))
    quarters = F.percentile(spent, F.array(F.lit(0.25), F.lit(0.5), F.lit(0.9)))
    found = rows.groupBy(*keys, "lesson", "step").agg(
        F.max("content").alias("content"),
        F.count_distinct("learner").alias("learners"),
        F.count_if(is_answered).alias("n"),
        F.avg(right).alias("difficulty"),
        F.when(F.count_if(is_answered) >= MIN_DISCRIMINATION, F.nullif(correlation, F.lit(float("nan"))))
        .alias("discrimination"),
        F.avg(F.when(is_answered, F.col("p"))).alias("p_mean"),
        F.avg("brier").alias("brier_mean"),
        F.avg(F.when(F.col("p").isNotNull() & is_answered, F.col("p") - right)).alias("gap"),
        quarters.alias("quarters"),
        F.avg((F.col("hints") > 0).cast("int")).alias("hint_share"),
        F.count_if(is_answered & (F.col("hints_before") > 0)).alias("with_hint"),
        F.count_if(is_answered & (F.col("hints_before") == 0)).alias("without_hint"),
        F.avg(F.when(F.col("hints_before") > 0, right)).alias("right_with_hint"),
        F.avg(F.when(F.col("hints_before") == 0, right)).alias("right_without_hint"),
        F.avg(F.col("skipped").cast("int")).alias("gave_up_share"),
        F.min("reached_ms").alias("first_ms"),
    )  # fmt: skip
    for place, name in enumerate(("spent_p25_s", "spent_p50_s", "spent_p90_s")):
        found = found.withColumn(name, F.col("quarters")[place])
    return found.drop("quarters")


STATISTICS = (
    c("content", STRING, "digest of the lesson's content"),
    c("learners", BIGINT, "number of learners at the step"),
    c("n", BIGINT, "number of learners who answered its question"),
    c("difficulty", DOUBLE, "share of first answers that were right", unit="0..1"),
    c("discrimination", DOUBLE, "correlation of right with the rest of the score; none below 20 answers"),
    c("p_mean", DOUBLE, "mean confidence", unit="0..1"),
    c("brier_mean", DOUBLE, "mean score: 0 is best"),
    c("gap", DOUBLE, "mean confidence minus share of right answers"),
    c("spent_p25_s", DOUBLE, "time at the step, 25th percentile"),
    c("spent_p50_s", DOUBLE, "time at the step, median"),
    c("spent_p90_s", DOUBLE, "time at the step, 90th percentile"),
    c("hint_share", DOUBLE, "share of learners who opened a hint"),
    c("with_hint", BIGINT, "number of learners who opened a hint before they answered"),
    c("without_hint", BIGINT, "number of learners who answered without"),
    c("right_with_hint", DOUBLE, "share of right answers of those who opened a hint before", unit="0..1"),
    c("right_without_hint", DOUBLE, "share of right answers of the others", unit="0..1"),
    c("gave_up_share", DOUBLE, "share of learners who skipped it"),
    c("first_ms", BIGINT, "wall time of the first completion"),
)


def item_statistics(t: Tables) -> "DataFrame":
    return statistics(first_steps(t.attempt_steps.where(in_class()), "class"), "class")


ITEMS = Table(
    name="gold.item_statistics",
    unit="class",
    key=("class", "lesson", "step"),
    needs=("gold.attempt_steps",),
    small=True,
    columns=(CLASS, LESSON, STEP, *STATISTICS),
    checks=(between("difficulty", 0, 1), between("discrimination", -1.000001, 1.000001)),
    make=item_statistics,
    doc="A step in a class: difficulty and discrimination of its question.",
)


def _mistakes(acts: "DataFrame") -> "DataFrame":
    """Each wrong choice or wrong state with a tag."""
    rows = acts.where(in_class() & F.col("misconception").isNotNull() & F.col("class_us").isNull())
    rows = rows.where(_is_state() | ~F.col("right"))
    return rows.select("class", "learner", F.col("misconception").alias("tag"), "at_ms")


def misconceptions(t: Tables) -> "DataFrame":
    rows = _tagged(t.acts.where(in_class()))
    of_learner = Window.partitionBy("class", "tag", "learner")
    is_mistake = F.col("is_mistake")
    rows = rows.withColumn("wrong_ms", F.min(F.when(is_mistake, F.col("at_ms"))).over(of_learner))
    is_later = F.col("at_ms") > F.col("wrong_ms")
    next_ms = F.min(F.when(~is_mistake & is_later, F.col("at_ms"))).over(of_learner)
    is_refuted = ~is_mistake & (F.col("at_ms") == F.col("next_ms")) & F.col("right")
    # Several counts of distinct values would multiply the rows.
    found = (
        rows.withColumn("next_ms", next_ms)
        .groupBy("class", "tag")
        .agg(
            _learners(is_mistake).alias("learners"),
            F.count_if(~is_mistake).alias("asked"),
            F.avg(F.when(is_mistake, F.col("p"))).alias("p_mean"),
            _learners(is_mistake & (F.col("p") >= SURE)).alias("sure"),
            F.count_if(is_mistake & ~F.col("is_state")).alias("by_choice"),
            F.count_if(is_mistake & F.col("is_state")).alias("by_state"),
            F.array_sort(F.collect_set(F.when(is_mistake, F.col("lesson")))).alias("lessons"),
            F.min("wrong_ms").alias("first_ms"),
            _learners(is_refuted).alias("refuted"),
            _learners(is_mistake & is_later).alias("returned"),
        )
    )
    own = t.acts.where(in_class() & F.col("class_us").isNull())
    people = own.groupBy("class").agg(F.count_distinct("learner").alias("all"))
    found = found.where("learners > 0").join(people, "class", "left")
    return found.withColumn("share", F.col("learners") / F.col("all"))


def _tagged(acts: "DataFrame") -> "DataFrame":
    """A row for each misconception that a question offered, and for each that a wrong choice or wrong state shows."""
    is_mistake = F.col("misconception").isNotNull() & F.col("class_us").isNull() & (_is_state() | ~F.col("right"))
    offered = F.when(F.col("kind").isin(*_ANSWERS), F.col("tags"))
    shown = F.when(is_mistake, F.array("misconception"))
    columns = [F.col(name) for name in ("class", "learner", "lesson", "p", "at_ms", "right")]
    columns.append(_is_state().alias("is_state"))
    # As one list, so that the acts are read once: the misconception that is shown is the last one.
    both = acts.withColumns({"offered": F.coalesce(offered, F.array()), "shown": F.coalesce(shown, F.array())})
    rows = both.select(*columns, F.size("offered").alias("offers"), F.posexplode(F.concat("offered", "shown")))
    return (
        rows.withColumnRenamed("col", "tag")
        .withColumn("is_mistake", F.col("pos") == F.col("offers"))
        .where("tag is not null")
    )


def _is_state() -> Column:
    return F.col("kind") == "WrongStateShown"


def _learners(condition: Column) -> Column:
    """The number of learners of rows for which a condition holds."""
    return F.size(F.collect_set(F.when(condition, F.col("learner"))))


MISCONCEPTIONS = Table(
    name="gold.misconceptions",
    unit="class",
    key=("class", "tag"),
    needs=("silver.acts",),
    small=True,
    columns=(
        CLASS,
        c("tag", STRING, "the misconception"),
        c("learners", BIGINT, "number of learners with it"),
        c("share", DOUBLE, "share of the learners of the class", unit="0..1"),
        c("asked", BIGINT, "answers to questions that offered it"),
        c("p_mean", DOUBLE, "mean confidence in it", unit="0..1"),
        c("sure", BIGINT, "learners who were at least 70 % sure of it"),
        c("by_choice", BIGINT, "wrong answers that show it"),
        c("by_state", BIGINT, "wrong states that show it"),
        c("lessons", array(STRING), "the lessons"),
        c("first_ms", BIGINT, "wall time of the first"),
        c("refuted", BIGINT, "learners who were right the next time"),
        c("returned", BIGINT, "learners who had it again"),
    ),
    checks=(between("share", 0, 1), between("p_mean", 0, 1)),
    make=misconceptions,
    doc="A misconception of a class.",
)


def mistake_pairs(t: Tables) -> "DataFrame":
    mistakes = _mistakes(t.acts).select("class", "learner", "tag").distinct()
    other = mistakes.withColumnRenamed("tag", "other")
    both = mistakes.join(other, ["class", "learner"])
    return both.groupBy("class", "tag", "other").agg(F.count("*").alias("learners"))


PAIRS = Table(
    name="gold.mistake_pairs",
    unit="class",
    key=("class", "tag", "other"),
    needs=("silver.acts",),
    small=True,
    columns=(
        CLASS, c("tag", STRING, "a misconception"), c("other", STRING, "another, or the same"),
        c("learners", BIGINT, "number of learners with both"),
    ),
    make=mistake_pairs,
    doc="Two misconceptions of a class with common learners.",
)  # fmt: skip


def mistake_groups(t: Tables) -> "DataFrame":
    mistakes = (
        _mistakes(t.acts)
        .groupBy("class", "learner")
        .agg(F.array_sort(F.collect_set("tag")).alias("tags"), F.max("at_ms").alias("at_ms"))
    )
    groups = mistakes.groupBy("class", "tags").agg(
        F.count("*").alias("learners"),
        F.array_sort(F.collect_list("learner")).alias("members"),
        F.max("at_ms").alias("last_ms"),
    )
    return groups.withColumn("mistakes", F.concat_ws(" ", "tags"))


GROUPS = Table(
    name="gold.mistake_groups",
    unit="class",
    key=("class", "mistakes"),
    needs=("silver.acts",),
    small=True,
    columns=(
        CLASS, c("mistakes", STRING, "misconceptions, with spaces between"),
        c("learners", BIGINT, "number of learners with exactly these"),
        c("members", array(STRING), "pseudonyms of the learners", personal=True),
        c("last_ms", BIGINT, "wall time of their last mistake"),
    ),
    make=mistake_groups,
    doc="Learners of a class with the same mistakes.",
)  # fmt: skip


def step_times(t: Tables) -> "DataFrame":
    first = first_steps(t.attempt_steps.where(in_class() & F.col("reached_ms").isNotNull()), "class")
    bucket = (F.floor(F.col("spent_s") / BUCKET_S) * BUCKET_S).alias("bucket_s")
    return first.groupBy("class", "lesson", "step", bucket).agg(F.count("*").alias("learners"))


TIMES = Table(
    name="gold.step_times",
    unit="class",
    key=("class", "lesson", "step", "bucket_s"),
    needs=("gold.attempt_steps",),
    small=True,
    columns=(
        CLASS, LESSON, STEP, c("bucket_s", BIGINT, "time at the step, in steps of 30 s"),
        c("learners", BIGINT, "number of learners with this time"),
    ),
    make=step_times,
    doc="Distribution of the time of a class at a step.",
)  # fmt: skip


def stuck_points(t: Tables) -> "DataFrame":
    rows = t.acts.where(F.col("kind").isin("StuckBegan", "StuckEnded"))
    after = Window.partitionBy("class", "learner").orderBy("seq")
    began = rows.withColumn("end_us", F.lead("class_us").over(after)).where("kind = 'StuckBegan'")
    rows = began.withColumn("length_s", (F.col("end_us") - F.col("class_us")) / 1_000_000)
    place = ("class", "lesson", "step")
    rows = rows.na.fill("", ["lesson", "step", "why"])
    by = rows.groupBy(*place, "why").agg(F.count("*").alias("times"))
    pairs = F.array_sort(F.collect_list(F.struct("why", "times")))
    by = by.groupBy(*place).agg(F.map_from_entries(pairs).alias("by_reason"))
    found = rows.groupBy(*place).agg(
        F.count_distinct("learner").alias("learners"),
        F.count("*").alias("episodes"),
        F.percentile("length_s", 0.5).alias("median_s"),
        F.min("class_us").alias("first_us"),
    )
    return found.join(by, [*place])


STUCK = Table(
    name="gold.stuck_points",
    unit="class",
    key=("class", "lesson", "step"),
    needs=("silver.acts",),
    small=True,
    columns=(
        CLASS, LESSON, c("step", STRING, "number of the step"),
        c("learners", BIGINT, "number of learners who were stuck"),
        c("episodes", BIGINT, "number of occurrences"),
        c("by_reason", map_of("string", "bigint"), "occurrences by reason"),
        c("median_s", DOUBLE, "median duration of those that ended"),
        c("first_us", BIGINT, "class time of the first"),
    ),
    make=stuck_points,
    doc="A step at which learners of a class were stuck.",
)  # fmt: skip


def by_stop(acts: "DataFrame", *keys: str) -> "DataFrame":
    """Predictions by confidence."""
    rows = acts.where(F.col("kind").isin("PredictionSettled", "TransferAnswered") & F.col("p").isNotNull())
    is_guess = F.abs(F.col("p") - F.try_divide(F.lit(1.0), F.col("choices"))) < 1e-6
    stop = F.when(is_guess, "guess").otherwise(F.format_string("%.2f", "p")).alias("stop")
    return rows.groupBy(*keys, stop).agg(
        F.count_distinct("learner").alias("learners"),
        F.count("*").alias("answers"),
        F.avg("p").alias("said"),
        F.avg(F.col("right").cast("int")).alias("was"),
        F.max("at_ms").alias("last_ms"),
    )


STOPS = (
    c("stop", STRING, "confidence: guess, or a probability"),
    c("learners", BIGINT, "number of learners"),
    c("answers", BIGINT, "number of predictions"),
    c("said", DOUBLE, "mean confidence", unit="0..1"),
    c("was", DOUBLE, "share of right predictions", unit="0..1"),
)


def calibration(t: Tables) -> "DataFrame":
    return by_stop(t.acts.where(in_class()), "class")


CALIBRATION = Table(
    name="gold.calibration",
    unit="class",
    key=("class", "stop"),
    needs=("silver.acts",),
    small=True,
    columns=(CLASS, *STOPS, c("last_ms", BIGINT, "wall time of the last one")),
    make=calibration,
    doc="Predictions of a class at one level of confidence.",
)


def poll_rounds(t: Tables) -> "DataFrame":
    acts = t.acts.where("poll is not null")
    revealed = acts.where(F.col("kind").isin("PollMade", "Revealed")).groupBy("class", "poll")
    outcomes = revealed.agg(F.max_by("outcome", F.when(F.col("outcome").isNotNull(), F.col("seq"))).alias("true"))
    cast = acts.where("kind = 'Voted'").groupBy("class", "poll", "round", "learner")
    votes = cast.agg(F.max_by("choice", "seq").alias("choice"), F.min("class_us").alias("at_us"))
    votes = votes.join(outcomes, ["class", "poll"], "left").withColumn("is_right", F.col("choice") == F.col("true"))
    rounds = Window.partitionBy("class", "poll", "learner").orderBy("round")
    was_before = F.lag("round").over(rounds) == F.col("round") - 1
    votes = votes.withColumn("was_right", F.when(was_before, F.lag("is_right").over(rounds)))
    return votes.groupBy("class", "poll", "round").agg(
        F.count("*").alias("answers"),
        F.sum(F.col("is_right").cast("int")).alias("right"),
        F.count_if(F.col("is_right") & ~F.col("was_right")).alias("changed_to_right"),
        F.count_if(~F.col("is_right") & F.col("was_right")).alias("changed_to_wrong"),
        F.min("at_us").alias("first_us"),
    )


POLLS = Table(
    name="gold.poll_rounds",
    unit="class",
    key=("class", "poll", "round"),
    needs=("silver.acts",),
    small=True,
    columns=(
        CLASS, c("poll", INT, "number of the poll"), c("round", INT, "round, from 1"),
        c("answers", BIGINT, "number of votes"),
        c("right", BIGINT, "number of right votes; null if no answer is"),
        c("changed_to_right", BIGINT, "right votes of learners who were wrong in the previous round"),
        c("changed_to_wrong", BIGINT, "wrong votes of learners who were right in the previous round"),
        c("first_us", BIGINT, "class time of the first vote"),
    ),
    make=poll_rounds,
    doc="A round of a poll.",
)  # fmt: skip
