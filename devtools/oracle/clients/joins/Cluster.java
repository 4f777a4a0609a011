package joins;

import static java.util.Map.entry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The cluster under test: clients of it, and what the cases check with. */
final class Cluster {
  static final Duration PATIENCE = Duration.ofSeconds(60);
  static final Duration POLL = Duration.ofMillis(100);
  static final String RUN = Long.toString(System.currentTimeMillis(), 36);

  final Admin admin;
  private final String bootstrap;

  Cluster(String bootstrap) {
    this.bootstrap = bootstrap;
    this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
  }

  static void check(boolean holds, Object instead) {
    if (!holds) throw new AssertionError(String.valueOf(instead));
  }

  static void same(Object expected, Object got) {
    check(expected.equals(got), "expected " + expected + ", got " + got);
  }

  static <T extends Throwable> void fails(Class<T> expected, Future<?> future) throws Exception {
    try {
      future.get();
    } catch (ExecutionException error) {
      check(expected.isInstance(error.getCause()), "expected " + expected + ", got " + error.getCause());
      return;
    }
    throw new AssertionError("expected " + expected + ", got an answer");
  }

  /** A new topic with a name of this run; it returns when every broker knows it. */
  String topic(String name, int partitions, Map<String, String> configs) throws Exception {
    String topic = name + "-" + RUN;
    admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 3).configs(configs))).all().get();
    until("the topic " + topic, () -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic)
        .partitions().stream().allMatch(each -> each.isr().size() == 3));
    return topic;
  }

  interface Condition {
    boolean holds() throws Exception;
  }

  static void until(String what, Condition condition) throws Exception {
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
  final Producer<String, String> producer(Map.Entry<String, Object>... more) {
    Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
    for (var each : more) settings.put(each.getKey(), each.getValue());
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  @SafeVarargs
  final Consumer<String, String> consumer(String group, Map.Entry<String, Object>... more) {
    Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group + "-" + RUN,
        "auto.offset.reset", "earliest", "enable.auto.commit", false));
    for (var each : more) settings.put(each.getKey(), each.getValue());
    return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }

  /** What a consumer of its own reads of a topic from its beginning: {@code count} records or a complaint. */
  List<ConsumerRecord<String, String>> read(String topic, int count, String isolation) {
    try (var consumer = consumer("read-" + topic, entry("isolation.level", isolation))) {
      var partitions = consumer.partitionsFor(topic).stream()
          .map(each -> new TopicPartition(topic, each.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      return take(consumer, count);
    }
  }

  static List<ConsumerRecord<String, String>> take(Consumer<String, String> consumer, int count) {
    List<ConsumerRecord<String, String>> got = new ArrayList<>();
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (got.size() < count && System.nanoTime() < deadline) consumer.poll(POLL).forEach(got::add);
    check(got.size() == count, "expected " + count + " records, got " + got.size());
    return got;
  }

  static List<String> values(List<ConsumerRecord<String, String>> records) {
    return records.stream().map(ConsumerRecord::value).toList();
  }

  static List<String> numbered(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(number -> prefix + number).toList();
  }

  static void send(Producer<String, String> producer, String topic, List<String> values) throws Exception {
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (String value : values) sent.add(producer.send(new ProducerRecord<>(topic, 0, null, value)));
    for (var each : sent) each.get();
  }

  static List<Integer> owned(List<Consumer<String, String>> members) {
    members.forEach(each -> each.poll(POLL));
    return members.stream().map(each -> each.assignment().size()).toList();
  }
}
