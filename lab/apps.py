"""The Django app."""

from django.apps import AppConfig


class LabConfig(AppConfig):
    """The lab: runs, their branches, and the pages that show them."""

    name = "lab"
    verbose_name = "Highwater"
