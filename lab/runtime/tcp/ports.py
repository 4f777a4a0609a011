"""The ports of a branch's brokers, remembered beside its recording: a bootstrap address outlives the lab."""

import logging

import msgspec

from lab.recordings.folder import BranchFolder
from lab.runtime.tcp.gateway import Gateway, GatewayLab
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

PORTS_FILE = "ports.json"


def open_gateway(engine: GatewayLab, folder: BranchFolder, brokers: tuple[int, ...]) -> Gateway:
    """A gateway on the ports that the branch had before; on free ones where it had none or one of them is taken."""
    path = folder.path / PORTS_FILE
    try:
        remembered = msgspec.json.decode(path.read_bytes(), type=dict[int, int])
    except (OSError, msgspec.MsgspecError):
        remembered = {}
    try:
        gateway = Gateway(engine, {broker: remembered.get(broker, 0) for broker in brokers})
    except Refusal as refusal:
        logger.warning("%s/%s gets other ports than before: %s", folder.run, folder.branch, refusal.what)
        gateway = Gateway(engine, dict.fromkeys(brokers, 0))
    if gateway.ports != remembered:
        path.write_bytes(msgspec.json.encode(gateway.ports))
    return gateway
