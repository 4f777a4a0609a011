"""The names of elements of a picture, as the pages show them (static/lab/ui/kit/things.js)."""

from broker_core.partitions import broker_id_of, is_broker, split_replica
from lab.classroom.anchors import is_element
from lab.texts.i18n import translate


def element_name(language: str, anchor: str) -> str:
    """`record:orders-0@b3:45` as people read it; a text that is not an anchor of an element stays as it is."""
    if not is_element(anchor):
        return anchor
    kind, _, id = anchor.partition(":")
    match kind:
        case "broker":
            return _node_name(language, id)
        case "replica":
            partition, node = split_replica(id)
            return translate(language, "thing.replica", partition=partition, node=_node_name(language, node))
        case "record":
            replica, _, n = id.rpartition(":")
            partition, node = split_replica(replica)
            return translate(language, "thing.record", partition=partition, node=_node_name(language, node), n=n)
        case "link":
            return " – ".join(_node_name(language, node) for node in id.split("|"))
        case "znode":
            return "ZooKeeper" if id == "/" else translate(language, "thing.znode", id=id)
        case _:
            return translate(language, f"thing.{kind}", id=id)


def _node_name(language: str, node: str) -> str:
    return translate(language, "node.broker", n=broker_id_of(node)) if is_broker(node) else node
