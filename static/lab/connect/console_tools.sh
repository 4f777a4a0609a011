# in the folder bin of a download of Kafka
echo "k1:hello" | ./kafka-console-producer.sh --bootstrap-server BOOTSTRAP --topic orders \
    --property parse.key=true --property key.separator=: --request-required-acks all

./kafka-console-consumer.sh --bootstrap-server BOOTSTRAP --topic orders --group mine --from-beginning \
    --max-messages 1 --property print.partition=true --property print.offset=true
