package joins;

import static java.util.Map.entry;
import static joins.Cluster.check;
import static joins.Cluster.numbered;
import static joins.Cluster.owned;
import static joins.Cluster.PATIENCE;
import static joins.Cluster.POLL;
import static joins.Cluster.RUN;
import static joins.Cluster.same;
import static joins.Cluster.send;
import static joins.Cluster.take;
import static joins.Cluster.until;
import static joins.Cluster.values;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;

/** Producers, consumers, transactions and groups. */
final class ClientCases {
  private final Cluster cluster;

  ClientCases(Cluster cluster) {
    this.cluster = cluster;
  }

  void everyCompression() throws Exception {
    String topic = cluster.topic("compressed", 1, Map.of());
    List<String> expected = new ArrayList<>();
    for (String compression : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
      List<String> values = numbered(compression.repeat(20), 200);
      try (var producer = cluster.producer(entry("compression.type", compression), entry("linger.ms", 20))) {
        send(producer, topic, values);
      }
      expected.addAll(values);
    }
    same(expected, values(cluster.read(topic, expected.size(), "read_uncommitted")));
  }

  void idempotent() throws Exception {
    String topic = cluster.topic("idempotent", 1, Map.of("segment.bytes", "1048576"));
    List<String> values = numbered("x".repeat(1_000), 5_000);
    try (var producer = cluster.producer(entry("batch.size", 4_096), entry("linger.ms", 1))) {
      send(producer, topic, values);
    }
    var got = cluster.read(topic, values.size(), "read_uncommitted");
    same(values, values(got));
    same(values.size() - 1L, got.get(values.size() - 1).offset());
  }

  void wholeRecords() throws Exception {
    String topic = cluster.topic("whole", 2, Map.of());
    try (var producer = cluster.producer()) {
      var record = new ProducerRecord<>(topic, 1, 1_700_000_000_000L, "key", "value");
      record.headers().add("one", "1".getBytes(StandardCharsets.UTF_8)).add("two", null);
      RecordMetadata told = producer.send(record).get();
      same(1_700_000_000_000L, told.timestamp());
      producer.send(new ProducerRecord<>(topic, 1, "key", null)).get();
      same(2, producer.partitionsFor(topic).size());
    }
    var got = cluster.read(topic, 2, "read_uncommitted");
    same("key=value", got.get(0).key() + "=" + got.get(0).value());
    same(1_700_000_000_000L, got.get(0).timestamp());
    same("1", new String(got.get(0).headers().lastHeader("one").value(), StandardCharsets.UTF_8));
    check(got.get(0).headers().lastHeader("two").value() == null, "a null header came back with a value");
    check(got.get(1).value() == null, "a null value came back as " + got.get(1).value());
    same(Optional.of(0), got.get(0).leaderEpoch());
  }

  void transactions() throws Exception {
    String topic = cluster.topic("ledger", 1, Map.of());
    try (var producer = cluster.producer(entry("transactional.id", "ledger-" + RUN))) {
      producer.initTransactions();
      for (int round = 0; round < 4; round++) {
        producer.beginTransaction();
        send(producer, topic, numbered(round % 2 == 0 ? "good" + round + "-" : "bad" + round + "-", 10));
        if (round % 2 == 0) producer.commitTransaction();
        else producer.abortTransaction();
      }
      var committed = values(cluster.read(topic, 20, "read_committed"));
      check(committed.stream().allMatch(value -> value.startsWith("good")), committed);
      cluster.read(topic, 40, "read_uncommitted");
      producer.beginTransaction();
      send(producer, topic, List.of("open"));
      // 40 records and 4 markers are stable, what is open is not
      var end = Map.of(new TopicPartition(topic, 0), OffsetSpec.latest());
      var stable = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED);
      same(44L, cluster.admin.listOffsets(end, stable).partitionResult(new TopicPartition(topic, 0)).get().offset());
      same(45L, cluster.admin.listOffsets(end).partitionResult(new TopicPartition(topic, 0)).get().offset());
      producer.abortTransaction();
    }
  }

  void consumeTransformProduce() throws Exception {
    String from = cluster.topic("from", 1, Map.of());
    String to = cluster.topic("to", 1, Map.of());
    try (var producer = cluster.producer()) {
      send(producer, from, numbered("v", 30));
    }
    Map.Entry<String, Object> committed = entry("isolation.level", "read_committed");
    try (var consumer = cluster.consumer("copy", committed, entry("max.poll.records", 10));
        var producer = cluster.producer(entry("transactional.id", "copy-" + RUN))) {
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
    same(numbered("V", 30), values(cluster.read(to, 30, "read_committed")));
  }

  void fenced() throws Exception {
    String topic = cluster.topic("fenced", 1, Map.of());
    try (var first = cluster.producer(entry("transactional.id", "one-" + RUN));
        var second = cluster.producer(entry("transactional.id", "one-" + RUN))) {
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
        same(List.of("kept"), values(cluster.read(topic, 1, "read_committed")));
      }
    }
  }

  void groupOfThree() throws Exception {
    String topic = cluster.topic("shared", 9, Map.of());
    Map.Entry<String, Object> assignor =
        entry("partition.assignment.strategy", List.of(CooperativeStickyAssignor.class));
    List<Consumer<String, String>> members = new ArrayList<>();
    for (int number = 0; number < 3; number++) {
      members.add(cluster.consumer("three", assignor, entry("max.poll.interval.ms", 6_000),
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

  void staticMember() throws Exception {
    String topic = cluster.topic("static", 4, Map.of());
    Map.Entry<String, Object> patient = entry("session.timeout.ms", 30_000);
    try (var other = cluster.consumer("static", patient, entry("group.instance.id", "other"))) {
      other.subscribe(List.of(topic));
      var first = cluster.consumer("static", patient, entry("group.instance.id", "mine"));
      first.subscribe(List.of(topic));
      until("two for each", () -> owned(List.of(first, other)).equals(List.of(2, 2)));
      Set<TopicPartition> before = first.assignment();
      int generation = first.groupMetadata().generationId();
      first.close();
      try (var again = cluster.consumer("static", patient, entry("group.instance.id", "mine"))) {
        again.subscribe(List.of(topic));
        until("its partitions", () -> owned(List.of(again, other)).equals(List.of(2, 2)));
        same(before, again.assignment());
        same(generation, again.groupMetadata().generationId());
      }
    }
  }

  void offsets() throws Exception {
    String topic = cluster.topic("offsets", 1, Map.of());
    var partition = new TopicPartition(topic, 0);
    try (var producer = cluster.producer()) {
      for (int number = 0; number < 20; number++) {
        producer.send(new ProducerRecord<>(topic, 0, 1_000L * number, null, "v" + number)).get();
      }
    }
    try (var consumer = cluster.consumer("offsets")) {
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
    try (var consumer = cluster.consumer("offsets")) {
      consumer.subscribe(List.of(topic));
      same(List.of("v18", "v19"), values(take(consumer, 2)));
    }
    try (var consumer = cluster.consumer("strict", entry("auto.offset.reset", "none"))) {
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
}
