"""The named streams of random numbers."""

import pickle

from broker_core.sim.rng import RandomStream, Streams

MASK = 2**64 - 1


def splitmix64(state: int, count: int) -> list[int]:
    """The generator as its author wrote it down, one number at a time."""
    found = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & MASK
        found.append(mixed ^ (mixed >> 31))
    return found


def test_stream_matches_splitmix64() -> None:
    for seed in range(5):
        stream = RandomStream(seed, "network")
        expected = splitmix64(stream._state, 300)
        assert [stream.next_u64() for _ in range(300)] == expected


def test_draws_stay_below_their_bound_and_come_from_the_same_numbers() -> None:
    stream = RandomStream(1, "network")
    numbers = splitmix64(stream._state, 200)
    assert [stream.below(151) for _ in range(200)] == [number * 151 >> 64 for number in numbers]


def test_streams_are_independent_and_resume_after_a_pickle() -> None:
    streams = Streams(7)
    first = [streams["a"].next_u64() for _ in range(70)]
    streams["b"].next_u64()
    copy = pickle.loads(pickle.dumps(streams))
    alone = RandomStream(7, "a")
    assert [alone.next_u64() for _ in range(140)] == first + [copy["a"].next_u64() for _ in range(70)]
