"""The Java behaviour of Kafka's tools: option parsers, JSON, configuration classes and their error messages."""
