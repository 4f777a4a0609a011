"""What `manage.py cluster` has recorded becomes a run in the list, to be replayed, analysed and forked as any other."""

from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.start_run import ensure_few_runs
from lab.models import Branch, Run
from lab.recordings.clusters import ended_clusters
from lab.refusal import Refusal
from lab.selectors import MAIN


def adopt_clusters(user: User) -> None:
    """Enters the clusters that have ended since, oldest first, as long as the user may have more runs."""
    clusters = ended_clusters()
    if Run.objects.filter(slug__in=clusters).count() == len(clusters):
        return
    with transaction.atomic():
        known = set(Run.objects.filter(slug__in=clusters).values_list("slug", flat=True))
        for slug, note in clusters.items():
            if slug in known:
                continue
            try:
                ensure_few_runs(user.pk)
            except Refusal:
                return
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
