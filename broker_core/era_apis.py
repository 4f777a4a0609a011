"""The APIs and versions of brokers of older releases, as in their ApiVersions responses.

0.8.2.2 does not have that API; its row lists what its request handler supports.
"""

from collections.abc import Mapping

#: By API key: the lowest and the highest version.
Apis = Mapping[int, tuple[int, int]]


def _up_to(*greatest: int) -> dict[int, tuple[int, int]]:
    """The APIs from key 0 on, from version 0 on."""
    return {key: (0, version) for key, version in enumerate(greatest)}


APIS_0_8: Apis = _up_to(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0)
# Version 0 of ControlledShutdown had no client id; brokers from 0.9 on did not offer it for a while.
APIS_0_10: Apis = _up_to(2, 3, 1, 2, 0, 0, 3, 1, 2, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0) | {7: (1, 1)}
APIS_1_1: Apis = _up_to(
    *(5, 7, 2, 5, 1, 0, 4, 1, 3, 3, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 0),
    *(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
)
APIS_2_4: Apis = _up_to(
    *(8, 11, 5, 9, 4, 2, 6, 3, 8, 6, 3, 6, 4, 4, 4, 5, 3, 1, 3, 5, 4, 1, 2, 3),
    *(1, 1, 1, 0, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 2, 2, 1, 0, 0, 0),
)


def is_offered(apis: Apis, key: int, version: int) -> bool:
    """Whether a version of an API is among `apis`."""
    least, greatest = apis.get(key, (0, -1))
    return least <= version <= greatest
