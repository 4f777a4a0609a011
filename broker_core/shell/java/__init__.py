"""What Kafka's tools inherit from Java: option parsers, JSON, configuration classes and their error texts."""
