"""Adds recordings of `manage.py cluster` to the list of runs, where they can be replayed, analysed and forked like any
other.
"""

from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.start_run import ensure_few_runs
from lab.models import Branch, Run
from lab.recordings.clusters import ended_clusters, forget_cluster
from lab.selectors import MAIN
from lab.texts.refusal import Refusal


def adopt_clusters(user: User) -> None:
    """Enters the clusters that have ended since, oldest first, as long as the user may have more runs."""
    clusters = ended_clusters()
    if not clusters:
        return
    with transaction.atomic():
        entered = set(Run.objects.filter(slug__in=clusters).values_list("slug", flat=True))
        for slug, note in clusters.items():
            if slug in entered:
                # The process that entered it was killed before it deleted the note.
                continue
            try:
                ensure_few_runs(user.pk)
            except Refusal:
                break
            began = datetime.fromtimestamp(note.start_wall_ms / 1000, UTC)
            run = Run.objects.create(
                slug=slug,
                owner=user,
                name=f"cluster {began:%Y-%m-%d %H:%M:%S} UTC",
                seed=note.seed,
                brokers=note.brokers,
                era=note.era,
                created_at=began,
            )
            Branch.objects.create(run=run, name=MAIN)
            entered.add(slug)
    for slug in entered:
        forget_cluster(slug)
