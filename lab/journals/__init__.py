"""Journals: Kafka logs on the disk of the lab whose records are the lab's own."""
