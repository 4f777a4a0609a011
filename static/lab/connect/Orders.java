// kafka-clients and what it needs from Maven (org.apache.kafka:kafka-clients) in lib, then: java -cp "lib/*" Orders.java
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

class Orders {
  static final String SERVERS = "BOOTSTRAP";

  public static void main(String[] arguments) throws Exception {
    Map<String, Object> writing = Map.of("bootstrap.servers", SERVERS, "acks", "all");
    try (var producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer())) {
      producer.send(new ProducerRecord<>("orders", "k1", "hello")).get();
    }

    Map<String, Object> reading = Map.of(
        "bootstrap.servers", SERVERS,
        "group.id", "mine",
        "auto.offset.reset", "earliest",
        "max.poll.records", 1);
    try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of("orders"));
      ConsumerRecords<String, String> records = ConsumerRecords.empty();
      while (records.isEmpty()) records = consumer.poll(Duration.ofSeconds(1));
      for (var record : records) System.out.println(record.partition() + " " + record.offset() + " " + record.value());
    }
  }
}
