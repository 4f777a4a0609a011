"""The tools that Kafka ships, one file each; their output is identical to Kafka's."""
