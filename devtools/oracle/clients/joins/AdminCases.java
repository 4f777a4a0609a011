package joins;

import static java.util.Map.entry;
import static joins.Cluster.check;
import static joins.Cluster.fails;
import static joins.Cluster.owned;
import static joins.Cluster.POLL;
import static joins.Cluster.RUN;
import static joins.Cluster.same;
import static joins.Cluster.send;
import static joins.Cluster.until;

import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ConsumerGroupState;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;

/** What an Admin does, and the errors of requests that cannot be fulfilled. */
final class AdminCases {
  private final Cluster cluster;

  AdminCases(Cluster cluster) {
    this.cluster = cluster;
  }

  void topics() throws Exception {
    String topic = cluster.topic("admin", 1, Map.of("retention.ms", "1000000"));
    check(cluster.admin.listTopics().names().get().contains(topic), "the topic is not listed");
    cluster.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
    until("three partitions", () -> cluster.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic)
        .partitions().size() == 3);
    var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    cluster.admin.incrementalAlterConfigs(Map.of(resource, List.of(
        new AlterConfigOp(new ConfigEntry("retention.ms", "2000000"), AlterConfigOp.OpType.SET),
        new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all().get();
    until("the new configs", () -> {
      var config = cluster.admin.describeConfigs(List.of(resource)).all().get().get(resource);
      return config.get("retention.ms").value().equals("2000000")
          && config.get("cleanup.policy").value().equals("delete,compact")
          && config.get("segment.bytes").source() == ConfigEntry.ConfigSource.DEFAULT_CONFIG;
    });
    try (var producer = cluster.producer()) {
      for (int number = 0; number < 10; number++) producer.send(new ProducerRecord<>(topic, 0, "k", "v")).get();
    }
    var partition = new TopicPartition(topic, 0);
    var deleted = cluster.admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(4)));
    var low = deleted.lowWatermarks().get(partition);
    same(4L, low.get().lowWatermark());
    var earliest = cluster.admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get();
    same(4L, earliest.offset());
    var topicId = cluster.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
    cluster.admin.deleteTopics(TopicCollection.ofTopicIds(List.of(topicId))).all().get();
    until("the topic to go", () -> !cluster.admin.listTopics().names().get().contains(topic));
  }

  void replicas() throws Exception {
    var described = cluster.admin.describeCluster();
    same(List.of(0, 1, 2), described.nodes().get().stream().map(each -> each.id()).sorted().toList());
    check(described.controller().get().id() >= 0, "there is no controller");
    String topic = "replicas-" + RUN;
    cluster.admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(0, 1))))).all().get();
    var partition = new TopicPartition(topic, 0);
    cluster.admin.alterPartitionReassignments(
        Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(2, 0))))).all().get();
    until("the reassignment", () -> cluster.admin.listPartitionReassignments().reassignments().get().isEmpty()
        && sorted(topic).equals(List.of(0, 2)));
    fails(ElectionNotNeededException.class, election(partition, ElectionType.UNCLEAN));
    until("its preferred leader", () -> {
      cluster.admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get();
      var now = cluster.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
      return now.partitions().get(0).leader().id() == 2;
    });
    var folders = cluster.admin.describeLogDirs(List.of(2)).allDescriptions().get().get(2).values();
    check(folders.stream().anyMatch(each -> each.replicaInfos().containsKey(partition)), "broker 2 has no replica");
  }

  private Future<?> election(TopicPartition partition, ElectionType type) throws Exception {
    var failure = cluster.admin.electLeaders(type, Set.of(partition)).partitions().get().get(partition);
    var future = new CompletableFuture<Void>();
    failure.ifPresentOrElse(future::completeExceptionally, () -> future.complete(null));
    return future;
  }

  private List<Integer> sorted(String topic) throws Exception {
    return cluster.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0).replicas()
        .stream().map(each -> each.id()).sorted().toList();
  }

  void groups() throws Exception {
    String topic = cluster.topic("groups", 2, Map.of());
    String group = "groups-" + RUN;
    var partition = new TopicPartition(topic, 0);
    var second = new TopicPartition(topic, 1);
    try (var consumer = cluster.consumer("groups", entry("client.id", "reader"))) {
      consumer.subscribe(List.of(topic));
      until("two partitions", () -> owned(List.of(consumer)).equals(List.of(2)));
      var described = cluster.admin.describeConsumerGroups(List.of(group)).all().get().get(group);
      same(ConsumerGroupState.STABLE, described.state());
      same("range", described.partitionAssignor());
      var member = described.members().iterator().next();
      same("reader", member.clientId());
      same(new HashSet<>(List.of(partition, second)), member.assignment().topicPartitions());
      fails(GroupNotEmptyException.class, cluster.admin.deleteConsumerGroups(List.of(group)).all());
      // what has no position yet is not committed
      consumer.position(partition);
      consumer.position(second);
      consumer.commitSync();
    }
    check(cluster.admin.listConsumerGroups().valid().get().stream().anyMatch(each -> each.groupId().equals(group)),
        "the group is not listed");
    cluster.admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(7))).all().get();
    var offsets = cluster.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    same(7L, offsets.get(partition).offset());
    same(0L, offsets.get(second).offset());
    cluster.admin.deleteConsumerGroupOffsets(group, Set.of(second)).all().get();
    var left = cluster.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    same(Set.of(partition), left.keySet());
    cluster.admin.deleteConsumerGroups(List.of(group)).all().get();
    same(ConsumerGroupState.DEAD, cluster.admin.describeConsumerGroups(List.of(group)).all().get().get(group).state());
  }

  void producers() throws Exception {
    String topic = cluster.topic("producers", 1, Map.of());
    String id = "producers-" + RUN;
    var partition = new TopicPartition(topic, 0);
    try (var producer = cluster.producer(entry("transactional.id", id))) {
      producer.initTransactions();
      producer.beginTransaction();
      send(producer, topic, List.of("a", "b"));
      var described = cluster.admin.describeTransactions(List.of(id)).description(id).get();
      same(TransactionState.ONGOING, described.state());
      same(Set.of(partition), described.topicPartitions());
      check(cluster.admin.listTransactions().all().get().stream().anyMatch(each -> each.transactionalId().equals(id)),
          "the transaction is not listed");
      var producers = cluster.admin.describeProducers(List.of(partition)).partitionResult(partition).get();
      var active = producers.activeProducers();
      same(described.producerId(), active.get(0).producerId());
      same(1, active.get(0).lastSequence());
      same(0L, active.get(0).currentTransactionStartOffset().getAsLong());
      cluster.admin.fenceProducers(List.of(id)).all().get();
      until("the abort", () -> cluster.admin.describeTransactions(List.of(id)).description(id).get().state()
          == TransactionState.EMPTY);
      try {
        producer.commitTransaction();
        throw new AssertionError("a fenced producer committed");
      } catch (ProducerFencedException expected) {
        same(Collections.emptyList(), cluster.read(topic, 0, "read_committed"));
      }
    }
  }

  void errors() throws Exception {
    String topic = cluster.topic("errors", 1, Map.of("max.message.bytes", "1000"));
    fails(TopicExistsException.class,
        cluster.admin.createTopics(List.of(new NewTopic(topic, 1, (short) 3))).all());
    fails(InvalidTopicException.class, cluster.admin.createTopics(List.of(new NewTopic("a b", 1, (short) 3))).all());
    fails(InvalidReplicationFactorException.class,
        cluster.admin.createTopics(List.of(new NewTopic("wide-" + RUN, 1, (short) 4))).all());
    try (var producer = cluster.producer(entry("retries", 0), entry("enable.idempotence", false))) {
      fails(RecordTooLargeException.class, producer.send(new ProducerRecord<>(topic, "x".repeat(2_000))));
      fails(InvalidTopicException.class, producer.send(new ProducerRecord<>("a b", "never")));
    }
    try (var first = cluster.consumer("errors", entry("group.instance.id", "same"));
        var second = cluster.consumer("errors", entry("group.instance.id", "same"))) {
      first.subscribe(List.of(topic));
      until("a member", () -> owned(List.of(first)).equals(List.of(1)));
      second.subscribe(List.of(topic));
      until("its successor", () -> owned(List.of(second)).equals(List.of(1)));
      until("the first to be fenced", () -> {
        try {
          first.poll(POLL);
          return false;
        } catch (FencedInstanceIdException expected) {
          return true;
        }
      });
    }
  }
}
