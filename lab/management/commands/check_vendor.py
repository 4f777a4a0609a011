"""`manage.py check_vendor`: are the third-party browser files the ones that the lock names?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lab.web.assets import vendor


class Command(BaseCommand):
    """Fails on a missing, changed or unlisted file below static/vendor."""

    help = "Recompute the digests of static/vendor and compare them with vendor.lock.json."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        said = vendor.problems(vendor.folder())
        if said:
            raise CommandError("static/vendor does not match vendor.lock.json:\n  " + "\n  ".join(said))
        self.stdout.write(f"{len(vendor.lock().files)} vendored files match vendor.lock.json")
