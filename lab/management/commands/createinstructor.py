"""`manage.py createinstructor`: an account that may teach classes."""

import argparse
import getpass
import sys
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from lab.management.commands.lab import prepare_data_folder, prepare_database
from lab.rights import LOCAL_USER


class Command(BaseCommand):
    """Makes the account, or gives it a new password."""

    help = "Make an account for an instructor, who may teach classes. Asks for a password."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="the user name")
        parser.add_argument("--reset", action="store_true", help="give an existing account a new password")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        from django.conf import settings

        prepare_data_folder(settings.DATA)
        prepare_database()
        name = options["name"]
        if name == LOCAL_USER:
            raise CommandError(f"{name} is the user of whoever runs the lab. Expected another name.")
        found = User.objects.filter(username=name).first()
        if found is not None and not options["reset"]:
            raise CommandError(f"There is an account {name}. Expected a new name, or --reset for a new password.")
        user = found or User(username=name)
        try:
            user.clean_fields(exclude=["password"])
            password = self._password(from_stdin=options["password_stdin"])
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        user.is_staff = user.is_active = True
        user.set_password(password)
        user.save()
        self.stdout.write(f"{name} may sign in at /sign-in/ and teach classes.")

    def _password(self, *, from_stdin: bool) -> str:
        if from_stdin:
            return sys.stdin.readline().rstrip("\n")
        password = getpass.getpass("Password: ")
        if getpass.getpass("Password again: ") != password:
            raise CommandError("The passwords differ. Expected the same one twice.")
        return password
