"""The messages that a broker of Kafka 3.9 in ZooKeeper mode offers, one file an API: fields and versions as data.

The notation is described in `broker_core.wire.notation`. Names, types, versions and defaults are those of Kafka's
protocol (https://kafka.apache.org/39/protocol.html).
"""

from importlib import import_module
from pkgutil import iter_modules

from broker_core.era_apis import Apis
from broker_core.eras import Era
from broker_core.wire.codec import Api


def _apis() -> dict[int, Api]:
    apis: list[Api] = [import_module(f"{__name__}.{module.name}").API for module in iter_modules(__path__)]
    return {api.key: api for api in sorted(apis, key=lambda api: api.key)}


#: By API key, rising.
SCHEMAS: dict[int, Api] = _apis()

#: By name, which is also that of the in-memory message.
BY_NAME: dict[str, Api] = {api.name: api for api in SCHEMAS.values()}


_OF_3_9: Apis = {key: (api.oldest_version, api.latest_version) for key, api in SCHEMAS.items()}


def offered(era: Era) -> Apis:
    """What the brokers of an era offer."""
    return _OF_3_9 if era.apis is None else era.apis
