"""The clients of a run: opens and closes them by name."""

from broker_core.clients.consumer.consumer import Consumer, ConsumerSettings
from broker_core.clients.consumer.group_consumer import GroupConsumer
from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings, shown_settings
from broker_core.clients.consumer.group_member import GroupMember
from broker_core.clients.consumer.zookeeper_consumer import ZookeeperConsumer
from broker_core.clients.pipeline import Pipeline, PipelineSettings, producer_name
from broker_core.clients.producer.producer import Producer
from broker_core.clients.producer.producer_settings import ProducerSettings
from broker_core.eras import Era
from broker_core.events.group import AssignorDefined
from broker_core.events.world import ClientFrozen, ClientThawed, LinkRestored, NodeAdded, NodeRemoved
from broker_core.partitions import broker_id_of, is_broker
from broker_core.sim.faults import LinkFault
from broker_core.sim.kernel import Kernel, Subjects, applies
from broker_core.sim.zookeeper import ZooKeeper

SUBJECT = "assignors@clients"
"""The kernel's subject for events about all clients."""


class Clients:
    """The producers and consumers. They bootstrap from the brokers that run when they are opened."""

    def __init__(self, kernel: Kernel, start_wall_ms: int, zookeeper: ZooKeeper, era: Era) -> None:
        self.kernel = kernel
        self.zookeeper = zookeeper
        self.era = era
        self.start_wall_ms = start_wall_ms
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.group_consumers: dict[str, GroupMember] = {}
        self.pipelines: dict[str, Pipeline] = {}
        #: Settings of the last pipeline of each name, for its restart.
        self.pipeline_settings: dict[str, PipelineSettings] = {}
        #: Name -> rules.
        self.own_assignors: dict[str, str] = {}
        kernel.subjects[SUBJECT] = self

    def define_assignor(self, name: str, rules: str) -> None:
        """Defines a custom assignor, or changes its rules; running members keep theirs."""
        self.kernel.emit(AssignorDefined(assignor=name, rules=rules), "lab")

    def is_free(self, name: str) -> bool:
        """Whether no node of the run has this name now."""
        return name not in self.kernel.nodes or name not in self.kernel.up

    def open_producer(self, name: str, settings: ProducerSettings, shown: tuple[tuple[str, str], ...]) -> Producer:
        """Opens a producer. `shown` are the settings for the page."""
        producer = Producer(self.kernel, name, settings, self._bootstrap(), self.start_wall_ms)
        self.producers[name] = producer
        self._join(producer, "producer", shown)
        return producer

    def open_consumer(
        self, name: str, partition: str, start: str, settings: ConsumerSettings, shown: tuple[tuple[str, str], ...]
    ) -> Consumer:
        """Opens a consumer that starts reading at `start`: `earliest`, `latest` or an offset."""
        consumer = Consumer(self.kernel, name, partition, start, settings, self._bootstrap())
        self.consumers[name] = consumer
        self._join(consumer, "consumer", shown)
        consumer.begin()
        return consumer

    def open_group_consumer(self, name: str, settings: GroupConsumerSettings) -> GroupMember:
        """Opens a member of a group, in the form of the era."""
        consumer: GroupMember = (
            GroupConsumer(self.kernel, name, settings, self._bootstrap())
            if self.era.coordinates_consumers
            else ZookeeperConsumer(self.kernel, name, settings, self._bootstrap(), self.zookeeper, self.start_wall_ms)
        )
        self.group_consumers[name] = consumer
        self._join(consumer, "consumer", shown_settings(settings, self.era))
        consumer.begin()
        return consumer

    def open_pipeline(
        self, name: str, settings: PipelineSettings, shown_of_producer: tuple[tuple[str, str], ...]
    ) -> Pipeline:
        """Opens a pipeline: the member `name` and its producer."""
        producer = self.open_producer(producer_name(name), settings.producer, shown_of_producer)
        pipeline = Pipeline(self.kernel, name, settings, self._bootstrap(), producer)
        self.group_consumers[name] = self.pipelines[name] = pipeline
        self.pipeline_settings[name] = settings
        shown = (("pipeline", f"{settings.source} -> {settings.target}"), ("order", settings.order))
        self._join(pipeline, "consumer", (*shown, *shown_settings(settings.member, self.era)))
        pipeline.begin()
        return pipeline

    def _process_of(self, name: str) -> tuple[str, ...]:
        """The nodes of the same process: both clients of a pipeline."""
        for pipeline in self.pipelines.values():
            if name in (pipeline.name, pipeline.producer.name):
                return pipeline.name, pipeline.producer.name
        return (name,)

    def reaches_zookeeper(self, name: str) -> None:
        """The link between a client and ZooKeeper works again."""
        member = self.group_consumers.get(name)
        if isinstance(member, ZookeeperConsumer) and not self.is_frozen(name):
            member.contact_restored()

    def description(self) -> dict[str, dict[str, object]]:
        """All clients by name, as shown in the view."""
        clients: dict[str, Producer | Consumer | GroupMember] = {
            **self.producers,
            **self.consumers,
            **self.group_consumers,
        }
        return {name: client.description() for name, client in clients.items()}

    def freeze(self, name: str) -> None:
        """SIGSTOP to a member of a group: it stops polling and sends no heartbeats."""
        for each in self._process_of(name):
            self.kernel.emit(ClientFrozen(client=each), each)
            self.kernel.freeze(each)
        member = self.group_consumers[name]
        if isinstance(member, ZookeeperConsumer):
            member.contact_lost()

    def thaw(self, name: str) -> None:
        """SIGCONT: the process resumes, and learns what happened to its membership."""
        for each in self._process_of(name):
            self.kernel.emit(ClientThawed(client=each), each)
            self.kernel.thaw(each)
        self.reaches_zookeeper(name)

    def is_frozen(self, name: str) -> bool:
        """Whether its process is suspended."""
        return name in self.kernel.frozen

    def close(self, name: str) -> None:
        """Closes a client; its messages in flight have no receiver, and its cut links are restored. The two clients of
        a pipeline are one process.
        """
        for each in self._process_of(name):
            self.pipelines.pop(each, None)
            self._close(each)

    def _close(self, name: str) -> None:
        self.producers.pop(name, None)
        self.consumers.pop(name, None)
        member = self.group_consumers.pop(name, None)
        if isinstance(member, ZookeeperConsumer):
            member.contact_lost()
        for a, b in sorted({(min(link), max(link)) for link in self.kernel.cut_links if name in link}):
            self.kernel.emit(LinkRestored(a=a, b=b), name)
            self.kernel.restore(a, b)
        for source, destination in [link for link in self.kernel.link_faults if name in link]:
            self.kernel.set_link_fault(source, destination, LinkFault())
        self.kernel.remove(name)
        del self.kernel.nodes[name]
        self.kernel.emit(NodeRemoved(node=name), name)
        del self.kernel.subjects[name]

    def _join(
        self, client: Producer | Consumer | GroupMember, node_kind: str, shown: tuple[tuple[str, str], ...]
    ) -> None:
        self.kernel.add(client)
        self.kernel.subjects[client.name] = client
        self.kernel.emit(NodeAdded(node=client.name, node_kind=node_kind, broker_id=-1, settings=shown), client.name)

    def _bootstrap(self) -> tuple[str, ...]:
        """The brokers of the run that are up, frozen ones last, because they do not respond."""
        brokers = sorted(filter(is_broker, self.kernel.nodes), key=broker_id_of)
        up = [name for name in brokers if name in self.kernel.up]
        return tuple(sorted(up or brokers, key=lambda name: name in self.kernel.frozen))


@applies(AssignorDefined)
def _assignor_defined(subjects: Subjects, event: AssignorDefined, at_us: int) -> None:
    clients: Clients = subjects[SUBJECT]
    clients.own_assignors[event.assignor] = event.rules
