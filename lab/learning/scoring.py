"""Confidence and correctness: the five stops and the Brier score over all choices.

A stop is the probability that the learner assigns to the chosen answer; the rest is spread evenly over the others. The
score is proper: the best strategy is to state one's actual confidence.
"""

GUESS = "guess"
STOPS = (0.5, 0.7, 0.9, 0.99)
"""The stops above a guess."""
CONFIDENT_P = 0.9
MIN_CHOICES, MAX_CHOICES = 2, 12
_TOLERANCE = 1e-6


def stops(choices: int) -> tuple[float, ...]:
    """The stops for a question with that many choices, lowest first. With two choices a guess is 0.5, so there are four
    stops.

    Raises ValueError for fewer than 2 choices.
    """
    if choices < MIN_CHOICES:
        raise ValueError(f"{choices} choices; {MIN_CHOICES} or more were expected")
    guess = 1 / choices
    return (guess, *(stop for stop in STOPS if stop > guess + _TOLERANCE))


def stop_name(p: float, choices: int) -> str:
    """`guess`, or the stop as a decimal number: `0.5`, `0.7`, `0.9`, `0.99`. Raises ValueError when p is not a stop."""
    for stop in stops(choices):
        if abs(stop - p) < _TOLERANCE:
            return GUESS if stop == 1 / choices else f"{stop:g}"
    raise ValueError(f"{p} is not one of the stops {', '.join(f'{stop:g}' for stop in stops(choices))}")


def is_stop(p: float, choices: int) -> bool:
    return choices >= MIN_CHOICES and any(abs(stop - p) < _TOLERANCE for stop in stops(choices))


def brier(p: float, choices: int, right: bool) -> float:
    """Σ (pᵢ − oᵢ)² over all choices: 0 for a certain right answer, 1 − 1/k for a guess, near 2 for a certain error."""
    rest = (1 - p) / (choices - 1)
    if right:
        return (1 - p) ** 2 + (choices - 1) * rest**2
    return p**2 + (1 - rest) ** 2 + (choices - 2) * rest**2


def skill(score: float, choices: int) -> float:
    """1 − B / (1 − 1/k): 1 at best, 0 for a guess, negative for errors made with confidence."""
    return 1 - score / (1 - 1 / choices)
