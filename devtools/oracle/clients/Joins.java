import static java.util.Map.entry;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ConsumerGroupState;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.IsolationLevel;
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
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own Java client joins a cluster of brokers 0, 1 and 2 and does all that it can there.
 *
 * <p>{@code java -cp 'JARS/*' Joins.java BOOTSTRAP} prints a line for each case: {@code passed NAME}, or {@code failed
 * NAME: why}. The exit status is 0 when all pass.
 */
final class Joins {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration POLL = Duration.ofMillis(100);
  private static final String RUN = Long.toString(System.currentTimeMillis(), 36);

  private final String bootstrap;
  private final Admin admin;

  private Joins(String bootstrap) {
    this.bootstrap = bootstrap;
    this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
  }

  private interface Case {
    void run() throws Exception;
  }

  public static void main(String[] arguments) {
    Joins joins = new Joins(arguments[0]);
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("every compression", joins::everyCompression);
    cases.put("an idempotent producer", joins::idempotent);
    cases.put("headers, keys, times and nulls", joins::wholeRecords);
    cases.put("transactions", joins::transactions);
    cases.put("consume, transform, produce", joins::consumeTransformProduce);
    cases.put("a fenced producer", joins::fenced);
    cases.put("a group of three", joins::groupOfThree);
    cases.put("a static member comes back", joins::staticMember);
    cases.put("offsets, seeks and resets", joins::offsets);
    cases.put("admin: topics and configs", joins::topics);
    cases.put("admin: replicas", joins::replicas);
    cases.put("admin: groups", joins::groups);
    cases.put("admin: producers and transactions", joins::producers);
    cases.put("errors are Kafka's", joins::errors);
    int failed = 0;
    for (var each : cases.entrySet()) {
      try {
        each.getValue().run();
        System.out.println("passed " + each.getKey());
      } catch (Exception | AssertionError error) {
        failed++;
        System.out.println("failed " + each.getKey() + ": " + error + " at " + place(error));
      }
    }
    joins.admin.close(Duration.ZERO);
    System.exit(failed == 0 ? 0 : 1);
  }

  private static String place(Throwable error) {
    for (StackTraceElement element : error.getStackTrace()) {
      if (element.getClassName().startsWith("Joins") && !element.getMethodName().equals("check")) {
        return element.getMethodName() + ", line " + element.getLineNumber();
      }
    }
    return "?";
  }

  private static void check(boolean holds, Object instead) {
    if (!holds) throw new AssertionError(String.valueOf(instead));
  }

  private static void same(Object expected, Object got) {
    check(expected.equals(got), "expected " + expected + ", got " + got);
  }

  private static <T extends Throwable> void fails(Class<T> expected, Future<?> future) throws Exception {
    try {
      future.get();
    } catch (ExecutionException error) {
      check(expected.isInstance(error.getCause()), "expected " + expected + ", got " + error.getCause());
      return;
    }
    throw new AssertionError("expected " + expected + ", got an answer");
  }

  /** A new topic with a name of this run; it returns when every broker knows it. */
  private String topic(String name, int partitions, Map<String, String> configs) throws Exception {
    String topic = name + "-" + RUN;
    admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 3).configs(configs))).all().get();
    until("the topic " + topic, () -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic)
        .partitions().stream().allMatch(each -> each.isr().size() == 3));
    return topic;
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void until(String what, Condition condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    Exception last = null;
    while (System.nanoTime() < deadline) {
      try {
        if (condition.holds()) return;
      } catch (ExecutionException error) {
        last = error;
      }
      Thread.sleep(50);
    }
    throw new AssertionError("waited in vain for " + what + (last == null ? "" : ": " + last));
  }

  @SafeVarargs
  private Producer<String, String> producer(Map.Entry<String, Object>... more) {
    Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
    for (var each : more) settings.put(each.getKey(), each.getValue());
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  @SafeVarargs
  private Consumer<String, String> consumer(String group, Map.Entry<String, Object>... more) {
    Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group + "-" + RUN,
        "auto.offset.reset", "earliest", "enable.auto.commit", false));
    for (var each : more) settings.put(each.getKey(), each.getValue());
    return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }

  /** What a consumer of its own reads of a topic from its beginning: {@code count} records or a complaint. */
  private List<ConsumerRecord<String, String>> read(String topic, int count, String isolation) {
    try (var consumer = consumer("read-" + topic, entry("isolation.level", isolation))) {
      var partitions = consumer.partitionsFor(topic).stream()
          .map(each -> new TopicPartition(topic, each.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      return take(consumer, count);
    }
  }

  private static List<ConsumerRecord<String, String>> take(Consumer<String, String> consumer, int count) {
    List<ConsumerRecord<String, String>> got = new ArrayList<>();
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (got.size() < count && System.nanoTime() < deadline) consumer.poll(POLL).forEach(got::add);
    check(got.size() == count, "expected " + count + " records, got " + got.size());
    return got;
  }

  private static List<String> values(List<ConsumerRecord<String, String>> records) {
    return records.stream().map(ConsumerRecord::value).toList();
  }

  private static List<String> numbered(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(number -> prefix + number).toList();
  }

  private static void send(Producer<String, String> producer, String topic, List<String> values) throws Exception {
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (String value : values) sent.add(producer.send(new ProducerRecord<>(topic, 0, null, value)));
    for (var each : sent) each.get();
  }

  private void everyCompression() throws Exception {
    String topic = topic("compressed", 1, Map.of());
    List<String> expected = new ArrayList<>();
    for (String compression : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
      List<String> values = numbered(compression.repeat(20), 200);
      try (var producer = producer(entry("compression.type", compression), entry("linger.ms", 20))) {
        send(producer, topic, values);
      }
      expected.addAll(values);
    }
    same(expected, values(read(topic, expected.size(), "read_uncommitted")));
  }

  private void idempotent() throws Exception {
    String topic = topic("idempotent", 1, Map.of("segment.bytes", "1048576"));
    List<String> values = numbered("x".repeat(1_000), 5_000);
    try (var producer = producer(entry("batch.size", 4_096), entry("linger.ms", 1))) {
      send(producer, topic, values);
    }
    var got = read(topic, values.size(), "read_uncommitted");
    same(values, values(got));
    same(values.size() - 1L, got.get(values.size() - 1).offset());
  }

  private void wholeRecords() throws Exception {
    String topic = topic("whole", 2, Map.of());
    try (var producer = producer()) {
      var record = new ProducerRecord<>(topic, 1, 1_700_000_000_000L, "key", "value");
      record.headers().add("one", "1".getBytes(StandardCharsets.UTF_8)).add("two", null);
      RecordMetadata told = producer.send(record).get();
      same(1_700_000_000_000L, told.timestamp());
      producer.send(new ProducerRecord<>(topic, 1, "key", null)).get();
      same(2, producer.partitionsFor(topic).size());
    }
    var got = read(topic, 2, "read_uncommitted");
    same("key=value", got.get(0).key() + "=" + got.get(0).value());
    same(1_700_000_000_000L, got.get(0).timestamp());
    same("1", new String(got.get(0).headers().lastHeader("one").value(), StandardCharsets.UTF_8));
    check(got.get(0).headers().lastHeader("two").value() == null, "a null header came back with a value");
    check(got.get(1).value() == null, "a null value came back as " + got.get(1).value());
    same(Optional.of(0), got.get(0).leaderEpoch());
  }

  private void transactions() throws Exception {
    String topic = topic("ledger", 1, Map.of());
    try (var producer = producer(entry("transactional.id", "ledger-" + RUN))) {
      producer.initTransactions();
      for (int round = 0; round < 4; round++) {
        producer.beginTransaction();
        send(producer, topic, numbered(round % 2 == 0 ? "good" + round + "-" : "bad" + round + "-", 10));
        if (round % 2 == 0) producer.commitTransaction();
        else producer.abortTransaction();
      }
      var committed = values(read(topic, 20, "read_committed"));
      check(committed.stream().allMatch(value -> value.startsWith("good")), committed);
      read(topic, 40, "read_uncommitted");
      producer.beginTransaction();
      send(producer, topic, List.of("open"));
      // 40 records and 4 markers are stable, what is open is not
      var end = Map.of(new TopicPartition(topic, 0), OffsetSpec.latest());
      var stable = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED);
      same(44L, admin.listOffsets(end, stable).partitionResult(new TopicPartition(topic, 0)).get().offset());
      same(45L, admin.listOffsets(end).partitionResult(new TopicPartition(topic, 0)).get().offset());
      producer.abortTransaction();
    }
  }

  private void consumeTransformProduce() throws Exception {
    String from = topic("from", 1, Map.of());
    String to = topic("to", 1, Map.of());
    try (var producer = producer()) {
      send(producer, from, numbered("v", 30));
    }
    try (var consumer = consumer("copy", entry("isolation.level", "read_committed"), entry("max.poll.records", 10));
        var producer = producer(entry("transactional.id", "copy-" + RUN))) {
      producer.initTransactions();
      consumer.subscribe(List.of(from));
      int copied = 0;
      boolean isFirst = true;
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (copied < 30 && System.nanoTime() < deadline) {
        var records = consumer.poll(POLL);
        if (records.isEmpty()) continue;
        producer.beginTransaction();
        for (var record : records) producer.send(new ProducerRecord<>(to, 0, null, record.value().toUpperCase()));
        var next = records.partitions().stream().collect(Collectors.toMap(each -> each,
            each -> new OffsetAndMetadata(records.records(each).get(records.records(each).size() - 1).offset() + 1)));
        producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
        if (isFirst) {
          producer.abortTransaction();
          consumer.seekToBeginning(consumer.assignment());
          isFirst = false;
        } else {
          producer.commitTransaction();
          copied += records.count();
        }
      }
      var partition = new TopicPartition(from, 0);
      same(30L, consumer.committed(Set.of(partition)).get(partition).offset());
    }
    same(numbered("V", 30), values(read(to, 30, "read_committed")));
  }

  private void fenced() throws Exception {
    String topic = topic("fenced", 1, Map.of());
    try (var first = producer(entry("transactional.id", "one-" + RUN));
        var second = producer(entry("transactional.id", "one-" + RUN))) {
      first.initTransactions();
      first.beginTransaction();
      send(first, topic, List.of("lost"));
      second.initTransactions();
      second.beginTransaction();
      send(second, topic, List.of("kept"));
      second.commitTransaction();
      try {
        first.commitTransaction();
        throw new AssertionError("the first producer was not fenced");
      } catch (ProducerFencedException expected) {
        same(List.of("kept"), values(read(topic, 1, "read_committed")));
      }
    }
  }

  private void groupOfThree() throws Exception {
    String topic = topic("shared", 9, Map.of());
    Map.Entry<String, Object> assignor =
        entry("partition.assignment.strategy", List.of(CooperativeStickyAssignor.class));
    List<Consumer<String, String>> members = new ArrayList<>();
    for (int number = 0; number < 3; number++) {
      members.add(consumer("three", assignor, entry("max.poll.interval.ms", 6_000),
          entry("session.timeout.ms", 6_000), entry("heartbeat.interval.ms", 500), entry("client.id", "m" + number)));
      members.get(number).subscribe(List.of(topic));
    }
    until("three partitions for each", () -> owned(members).equals(List.of(3, 3, 3)));
    same(9, members.stream().flatMap(each -> each.assignment().stream()).collect(Collectors.toSet()).size());
    var silent = members.remove(2);
    until("the others to take over from a silent member", () -> {
      List<Integer> counts = owned(members);
      return counts.get(0) + counts.get(1) == 9 && Math.abs(counts.get(0) - counts.get(1)) == 1;
    });
    until("the silent member to come back", () -> {
      silent.poll(POLL);
      owned(members);
      return !silent.assignment().isEmpty() && members.stream().allMatch(each -> each.assignment().size() == 3);
    });
    silent.close();
    members.get(0).close();
    var last = members.subList(1, 2);
    until("the last to take all", () -> owned(last).equals(List.of(9)));
    last.get(0).close();
  }

  private static List<Integer> owned(List<Consumer<String, String>> members) {
    members.forEach(each -> each.poll(POLL));
    return members.stream().map(each -> each.assignment().size()).toList();
  }

  private void staticMember() throws Exception {
    String topic = topic("static", 4, Map.of());
    Map.Entry<String, Object> patient = entry("session.timeout.ms", 30_000);
    try (var other = consumer("static", patient, entry("group.instance.id", "other"))) {
      other.subscribe(List.of(topic));
      var first = consumer("static", patient, entry("group.instance.id", "mine"));
      first.subscribe(List.of(topic));
      until("two for each", () -> owned(List.of(first, other)).equals(List.of(2, 2)));
      Set<TopicPartition> before = first.assignment();
      int generation = first.groupMetadata().generationId();
      first.close();
      try (var again = consumer("static", patient, entry("group.instance.id", "mine"))) {
        again.subscribe(List.of(topic));
        until("its partitions", () -> owned(List.of(again, other)).equals(List.of(2, 2)));
        same(before, again.assignment());
        same(generation, again.groupMetadata().generationId());
      }
    }
  }

  private void offsets() throws Exception {
    String topic = topic("offsets", 1, Map.of());
    var partition = new TopicPartition(topic, 0);
    try (var producer = producer()) {
      for (int number = 0; number < 20; number++) {
        producer.send(new ProducerRecord<>(topic, 0, 1_000L * number, null, "v" + number)).get();
      }
    }
    try (var consumer = consumer("offsets")) {
      consumer.assign(List.of(partition));
      same(Map.of(partition, 0L), consumer.beginningOffsets(List.of(partition)));
      same(Map.of(partition, 20L), consumer.endOffsets(List.of(partition)));
      OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, 4_500L)).get(partition);
      same(5L, found.offset());
      same(5_000L, found.timestamp());
      consumer.seek(partition, 17);
      same(List.of("v17", "v18", "v19"), values(take(consumer, 3)));
      consumer.commitSync(Map.of(partition, new OffsetAndMetadata(18, "so far")));
      same("so far", consumer.committed(Set.of(partition)).get(partition).metadata());
      consumer.pause(List.of(partition));
      consumer.seek(partition, 3);
      check(consumer.poll(POLL).isEmpty(), "a paused partition gave records");
      consumer.resume(List.of(partition));
      same(17, take(consumer, 17).size());
    }
    try (var consumer = consumer("offsets")) {
      consumer.subscribe(List.of(topic));
      same(List.of("v18", "v19"), values(take(consumer, 2)));
    }
    try (var consumer = consumer("strict", entry("auto.offset.reset", "none"))) {
      consumer.assign(List.of(partition));
      consumer.seek(partition, 99);
      until("a complaint about an offset out of range", () -> {
        try {
          consumer.poll(POLL);
          return false;
        } catch (OffsetOutOfRangeException expected) {
          return true;
        }
      });
    }
  }

  private void topics() throws Exception {
    String topic = topic("admin", 1, Map.of("retention.ms", "1000000"));
    check(admin.listTopics().names().get().contains(topic), "the topic is not listed");
    admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
    until("three partitions", () -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic)
        .partitions().size() == 3);
    var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    admin.incrementalAlterConfigs(Map.of(resource, List.of(
        new AlterConfigOp(new ConfigEntry("retention.ms", "2000000"), AlterConfigOp.OpType.SET),
        new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all().get();
    until("the new configs", () -> {
      var config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
      return config.get("retention.ms").value().equals("2000000")
          && config.get("cleanup.policy").value().equals("delete,compact")
          && config.get("segment.bytes").source() == ConfigEntry.ConfigSource.DEFAULT_CONFIG;
    });
    try (var producer = producer()) {
      for (int number = 0; number < 10; number++) producer.send(new ProducerRecord<>(topic, 0, "k", "v")).get();
    }
    var partition = new TopicPartition(topic, 0);
    var low = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(4))).lowWatermarks().get(partition);
    same(4L, low.get().lowWatermark());
    var earliest = admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get();
    same(4L, earliest.offset());
    var topicId = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
    admin.deleteTopics(TopicCollection.ofTopicIds(List.of(topicId))).all().get();
    until("the topic to go", () -> !admin.listTopics().names().get().contains(topic));
  }

  private void replicas() throws Exception {
    var cluster = admin.describeCluster();
    same(List.of(0, 1, 2), cluster.nodes().get().stream().map(each -> each.id()).sorted().toList());
    check(cluster.controller().get().id() >= 0, "there is no controller");
    String topic = "replicas-" + RUN;
    admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(0, 1))))).all().get();
    var partition = new TopicPartition(topic, 0);
    admin.alterPartitionReassignments(
        Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(2, 0))))).all().get();
    until("the reassignment", () -> admin.listPartitionReassignments().reassignments().get().isEmpty()
        && sorted(topic).equals(List.of(0, 2)));
    fails(ElectionNotNeededException.class, election(partition, ElectionType.UNCLEAN));
    until("its preferred leader", () -> {
      admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get();
      return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0).leader().id()
          == 2;
    });
    var folders = admin.describeLogDirs(List.of(2)).allDescriptions().get().get(2).values();
    check(folders.stream().anyMatch(each -> each.replicaInfos().containsKey(partition)), "broker 2 has no replica");
  }

  private Future<?> election(TopicPartition partition, ElectionType type) throws Exception {
    var failure = admin.electLeaders(type, Set.of(partition)).partitions().get().get(partition);
    var future = new CompletableFuture<Void>();
    failure.ifPresentOrElse(future::completeExceptionally, () -> future.complete(null));
    return future;
  }

  private List<Integer> sorted(String topic) throws Exception {
    return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0).replicas()
        .stream().map(each -> each.id()).sorted().toList();
  }

  private void groups() throws Exception {
    String topic = topic("groups", 2, Map.of());
    String group = "groups-" + RUN;
    var partition = new TopicPartition(topic, 0);
    var second = new TopicPartition(topic, 1);
    try (var consumer = consumer("groups", entry("client.id", "reader"))) {
      consumer.subscribe(List.of(topic));
      until("two partitions", () -> owned(List.of(consumer)).equals(List.of(2)));
      var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
      same(ConsumerGroupState.STABLE, described.state());
      same("range", described.partitionAssignor());
      var member = described.members().iterator().next();
      same("reader", member.clientId());
      same(new HashSet<>(List.of(partition, second)), member.assignment().topicPartitions());
      fails(GroupNotEmptyException.class, admin.deleteConsumerGroups(List.of(group)).all());
      // what has no position yet is not committed
      consumer.position(partition);
      consumer.position(second);
      consumer.commitSync();
    }
    check(admin.listConsumerGroups().valid().get().stream().anyMatch(each -> each.groupId().equals(group)),
        "the group is not listed");
    admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(7))).all().get();
    var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    same(7L, offsets.get(partition).offset());
    same(0L, offsets.get(second).offset());
    admin.deleteConsumerGroupOffsets(group, Set.of(second)).all().get();
    same(Set.of(partition), admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().keySet());
    admin.deleteConsumerGroups(List.of(group)).all().get();
    same(ConsumerGroupState.DEAD, admin.describeConsumerGroups(List.of(group)).all().get().get(group).state());
  }

  private void producers() throws Exception {
    String topic = topic("producers", 1, Map.of());
    String id = "producers-" + RUN;
    var partition = new TopicPartition(topic, 0);
    try (var producer = producer(entry("transactional.id", id))) {
      producer.initTransactions();
      producer.beginTransaction();
      send(producer, topic, List.of("a", "b"));
      var described = admin.describeTransactions(List.of(id)).description(id).get();
      same(TransactionState.ONGOING, described.state());
      same(Set.of(partition), described.topicPartitions());
      check(admin.listTransactions().all().get().stream().anyMatch(each -> each.transactionalId().equals(id)),
          "the transaction is not listed");
      var active = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
      same(described.producerId(), active.get(0).producerId());
      same(1, active.get(0).lastSequence());
      same(0L, active.get(0).currentTransactionStartOffset().getAsLong());
      admin.fenceProducers(List.of(id)).all().get();
      until("the abort", () -> admin.describeTransactions(List.of(id)).description(id).get().state()
          == TransactionState.EMPTY);
      try {
        producer.commitTransaction();
        throw new AssertionError("a fenced producer committed");
      } catch (ProducerFencedException expected) {
        same(Collections.emptyList(), read(topic, 0, "read_committed"));
      }
    }
  }

  private void errors() throws Exception {
    String topic = topic("errors", 1, Map.of("max.message.bytes", "1000"));
    fails(TopicExistsException.class,
        admin.createTopics(List.of(new NewTopic(topic, 1, (short) 3))).all());
    fails(InvalidTopicException.class, admin.createTopics(List.of(new NewTopic("a b", 1, (short) 3))).all());
    fails(InvalidReplicationFactorException.class,
        admin.createTopics(List.of(new NewTopic("wide-" + RUN, 1, (short) 4))).all());
    try (var producer = producer(entry("retries", 0), entry("enable.idempotence", false))) {
      fails(RecordTooLargeException.class, producer.send(new ProducerRecord<>(topic, "x".repeat(2_000))));
      fails(InvalidTopicException.class, producer.send(new ProducerRecord<>("a b", "never")));
    }
    try (var first = consumer("errors", entry("group.instance.id", "same"));
        var second = consumer("errors", entry("group.instance.id", "same"))) {
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
