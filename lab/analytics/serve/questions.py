"""Sample queries for the tables page. The title of each is `tables.question.<name>`."""

QUESTIONS: dict[str, str] = {
    "hardest_steps": """select class, lesson, step, n,
  round(difficulty, 2) as right_first, round(hint_share, 2) as with_hint
from gold.item_statistics
order by difficulty
limit 20""",
    "mistakes": """select class, tag, learners,
  round(share, 2) as share, round(p_mean, 2) as how_sure, refuted, returned
from gold.misconceptions
order by learners desc, p_mean desc""",
    "sure_and_wrong": """select class, lesson, step, choice, misconception,
  count(*) as answers, round(avg(p), 2) as said
from gold.attempt_steps
where not "right" and p >= 0.8
group by class, lesson, step, choice, misconception
order by answers desc""",
    "stuck": """select class, lesson, step, learners, episodes, round(median_s) as median_s, by_reason
from gold.stuck_points
order by learners desc, median_s desc""",
    "hints": """select class, lesson, step, n as learners, with_hint,
  round(right_with_hint, 2) as right_with_hint, round(right_without_hint, 2) as right_without
from gold.item_statistics
where n >= 5
order by class, lesson, step""",
    "eras": """select era, count(*) as runs, median(commit_p99_us) / 1000.0 as commit_p99_ms,
  median(unavailable_us) / 1000.0 as unavailable_ms, sum(lost_records) as lost
from gold.run_summary
group by era""",
    "acks": """select run, branch, acks,
  min(latency_us) filter (share >= 0.5) / 1000.0 as p50_ms,
  min(latency_us) filter (share >= 0.99) / 1000.0 as p99_ms
from gold.commit_latency
group by run, branch, acks
order by p99_ms desc""",
    "failovers": """select run, branch, topic, partition, leader_epoch,
  unavailable_us // 1000 as unavailable_ms, unclean, truncated_records
from gold.failovers
order by unavailable_us desc
limit 50""",
    "rebalances": """select run, branch, "group", count(*) as rebalances,
  max(stop_the_world_us) // 1000 as longest_ms, sum(unowned_us) // 1000 as unowned_ms, max(members) as members
from gold.rebalances
group by run, branch, "group"
order by unowned_ms desc""",
    "settings": """select settings['min.insync.replicas'] as min_insync_replicas, count(*) as runs,
  sum(lost_records) as lost, median(commit_p99_us) / 1000.0 as commit_p99_ms
from gold.run_summary
where min_insync_replicas is not null
group by all""",
}
