#!/usr/bin/env python
"""Django's command line for Highwater: `manage.py lab` runs everything, `manage.py help` lists the rest."""

import os
import sys


def take_data_folder(arguments: list[str]) -> None:
    """`--data FOLDER`: where runs and the database lie. Settings are read before any command sees its options."""
    for index, argument in enumerate(arguments):
        if argument.startswith("--data="):
            os.environ["HIGHWATER_DATA"] = argument.removeprefix("--data=")
        elif argument == "--data" and index + 1 < len(arguments):
            os.environ["HIGHWATER_DATA"] = arguments[index + 1]


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    take_data_folder(sys.argv)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
