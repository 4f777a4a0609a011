"""How sure and how right: stops and scores as the course defines them."""

import pytest

from lab.learning.scoring import brier, is_stop, skill, stop_name, stops


def test_scores_are_those_of_the_table() -> None:
    right = [(round(brier(p, 4, True), 2), round(skill(brier(p, 4, True), 4), 2)) for p in stops(4)]
    wrong = [(round(brier(p, 4, False), 2), round(skill(brier(p, 4, False), 4), 2)) for p in stops(4)]
    assert right == [(0.75, 0.0), (0.33, 0.56), (0.12, 0.84), (0.01, 0.98), (0.0, 1.0)]
    assert wrong == [(0.75, 0.0), (1.0, -0.33), (1.32, -0.76), (1.75, -1.33), (1.97, -1.63)]


@pytest.mark.parametrize("choices", [2, 3, 4, 5])
def test_score_is_proper(choices) -> None:
    # A learner who believes `b` expects the smallest score from the stop nearest to it.
    for belief in stops(choices):
        expected = {
            p: belief * brier(p, choices, True) + (1 - belief) * brier(p, choices, False) for p in stops(choices)
        }
        assert min(expected, key=expected.__getitem__) == belief


def test_guess_coincides_with_a_half_where_there_are_two_choices() -> None:
    assert stops(2) == (0.5, 0.7, 0.9, 0.99)
    assert [stop_name(p, 2) for p in stops(2)] == ["guess", "0.7", "0.9", "0.99"]
    assert [stop_name(p, 5) for p in stops(5)] == ["guess", "0.5", "0.7", "0.9", "0.99"]


@pytest.mark.parametrize(("p", "choices"), [(0.3, 4), (0.25, 3), (1.0, 4), (0.0, 4), (0.5, 1), (0.5, 0)])
def test_other_probabilities_are_refused(p, choices) -> None:
    assert not is_stop(p, choices)
    with pytest.raises(ValueError, match=r"stop|choices"):
        stop_name(p, choices)
