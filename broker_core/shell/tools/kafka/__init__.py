"""The tools that Kafka ships, one file each; their output is Kafka's to the byte."""
