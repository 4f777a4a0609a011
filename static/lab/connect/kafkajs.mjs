// npm install kafkajs, then: node kafkajs.mjs
import { Kafka, logLevel } from "kafkajs";

const kafka = new Kafka({ brokers: "BOOTSTRAP".split(","), logLevel: logLevel.ERROR });

const producer = kafka.producer();
await producer.connect();
await producer.send({ topic: "orders", acks: -1, messages: [{ key: "k1", value: "hello" }] });
await producer.disconnect();

const consumer = kafka.consumer({ groupId: "mine" });
await consumer.connect();
await consumer.subscribe({ topics: ["orders"], fromBeginning: true });
const { partition, message } = await new Promise((resolve, reject) => {
  consumer.run({ eachMessage: async (record) => resolve(record) }).catch(reject);
});
console.log(partition, message.offset, message.value.toString());
await consumer.disconnect();
