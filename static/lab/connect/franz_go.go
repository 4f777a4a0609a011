// go mod init orders && go get github.com/twmb/franz-go/pkg/kgo && go run .
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

const servers = "BOOTSTRAP"

func main() {
	ctx := context.Background()
	producer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.AllowAutoTopicCreation(),
	)
	if err != nil {
		panic(err)
	}
	record := &kgo.Record{Topic: "orders", Key: []byte("k1"), Value: []byte("hello")}
	if err := producer.ProduceSync(ctx, record).FirstErr(); err != nil {
		panic(err)
	}
	producer.Close()

	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.ConsumerGroup("mine"),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		panic(err)
	}
	defer consumer.Close()
	fetches := consumer.PollRecords(ctx, 1)
	if err := fetches.Err(); err != nil {
		panic(err)
	}
	for _, record := range fetches.Records() {
		fmt.Println(record.Partition, record.Offset, string(record.Value))
	}
}
