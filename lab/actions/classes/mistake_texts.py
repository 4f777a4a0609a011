"""The sentences of what a class may mix up: of its lesson's misconceptions and wrong states."""

from lab.actions.classes.lessons.start import lesson_of
from lab.classroom.results.mistakes import mistake_key
from lab.exercises.questions import tags_of
from lab.learning.misconceptions import says

_ENDS = (". ", "。", ": ", "：", "; ")


def mistake_texts(chapter: str, language: str) -> dict[str, str]:
    """By `mistake_key`, in one language. Of the text of a wrong state its first sentence, which says what it is."""
    lesson = lesson_of(chapter)
    if lesson is None:
        return {}
    states = {
        mistake_key(wrong.id, "state", number): _beginning(wrong.text.in_language(language))
        for number, step in enumerate(lesson.steps, 1)
        for wrong in step.wrong
    }
    return {tag: says(tag, language) for tag in sorted(tags_of(lesson))} | states


def _beginning(text: str) -> str:
    at = min((text.index(end) for end in _ENDS if end in text), default=len(text))
    return text[:at].rstrip(".。")
