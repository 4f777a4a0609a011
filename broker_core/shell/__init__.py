"""The shell: one grammar for the console of the page, scripts, exercises and transcripts.

Kafka's own tools with their options and texts, ZooKeeper verbs, and verbs of the lab.
"""
