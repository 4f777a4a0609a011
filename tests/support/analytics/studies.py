"""A study of four small clusters."""

SMALL = '''
seeds = 2
measures = ["ack_p99_ms", "produce_requests"]
setup = """
kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 1
producer open p --linger {linger.ms}
producer send p orders warm:up
sleep 1s
"""
workload = """
# two records within two milliseconds
producer send p orders a:1 &
producer send p orders b:2 &
sleep 1s
"""

[title]
en = "Small"
zh = "小"

[question]
en = "How many requests?"
zh = "多少请求？"

[grid]
"linger.ms" = [0, 50]
'''
