"""Review questions: drawn from seeded scenarios, with the right answer computed by the core.

A generator is a pure function of a random stream, registered under the slug of its lesson:

    @review("017-segments-roll")
    def segments_roll(rng: Random) -> Question: ...

The same seed gives the same question, so a question is stored as its seed. `manage.py check_reviews` checks them all.
"""

from lab.reviews.question import Choice, Question
from lab.reviews.registry import generators, question_of

__all__ = ["Choice", "Question", "generators", "question_of"]
