"""Django's settings for Highwater.

`HIGHWATER_DATA` names the data folder (default `data` beside manage.py): the database, the runs, ZooKeeper's files.
`HIGHWATER_TABLES` names the folder of the tables over recordings (default `tables` in the data folder), or an address
in an object store, `s3://bucket/folder`. `HIGHWATER_RECORDING_DAYS` is how long recordings of classes are kept (default
365 days; 0: no limit). `HIGHWATER_RECOGNISER` is the command of a speech recogniser for captions; see
docs/RECORDINGS.md (default: none). `HIGHWATER_TABLE_DAYS` is how long tables keep a run or a log after the last event
in it (default 365 days; 0: no limit). `HIGHWATER_SHEDS_LOAD` is 0 for a server that leaves nothing out when it is
behind.
"""

import hashlib
import os
import secrets
import shlex
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("HIGHWATER_DATA") or BASE_DIR / "data").resolve()
RUNS = DATA / "runs"
TABLES = os.environ.get("HIGHWATER_TABLES") or str(DATA / "tables")
SECRET_KEY_FILE = DATA / "secret-key"

DEBUG = False
#: `make dev`: templates are read at each request, and pages reload themselves when something has changed.
DEV = bool(os.environ.get("HIGHWATER_DEV"))
# `manage.py lab` keeps the key in the data folder, so that browsers stay signed in over a restart.
SECRET_KEY = SECRET_KEY_FILE.read_text().strip() if SECRET_KEY_FILE.is_file() else secrets.token_urlsafe(48)
#: How long guests of a class that has ended keep their names, cookies and labs.
GUEST_DAYS = 30
#: How long the recording of a class that has ended is kept; 0: until the class is deleted.
RECORDING_DAYS = int(os.environ.get("HIGHWATER_RECORDING_DAYS") or 365)
#: A speech recogniser for captions: its command with arguments, run without a shell; empty: there is none.
RECOGNISER = shlex.split(os.environ.get("HIGHWATER_RECOGNISER") or "")
#: How long tables keep the rows of a run, a class or a learner after the last event or act; 0: as long as it is there.
TABLE_DAYS = int(os.environ.get("HIGHWATER_TABLE_DAYS") or 365)
#: Whether a server that is behind leaves out for its classes what can be left out; tests of slow machines do not.
SHEDS_LOAD = os.environ.get("HIGHWATER_SHEDS_LOAD") != "0"
#: Opening the printed address proves access to the terminal. Each start has a new token.
SIGN_IN_TOKEN = os.environ.get("HIGHWATER_TOKEN") or secrets.token_urlsafe(24)
#: "host:port" of the ZooKeeper that clusters register in; empty: in memory, for tests of the pages alone.
ZOOKEEPER = ""

ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
#: `manage.py lab --host`: others than the local user may come, over the network.
SERVES_ROOM = False
#: Where they find it, `http://192.168.1.20:8000`; pages that are open on this machine show it in place of their own.
ROOM_ADDRESS = ""
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "lab.apps.LabConfig",
    "devtools",
]
MIDDLEWARE = [
    "lab.web.middleware.content_security_policy",
    "lab.web.direct.DirectSecurity",
    "lab.web.direct.DirectSession",
    "lab.web.direct.DirectCsrf",
    "lab.web.direct.DirectAuthentication",
    "lab.web.classes.guests.GuestMiddleware",
    "lab.preferences.keep_preferences",
    "lab.web.middleware.refusals",
]
#: Developers' pages are served too: `make dev` and the tests of those pages set it.
DEVELOPMENT = os.environ.get("HIGHWATER_DEV") == "1"
ROOT_URLCONF = "devtools.urls" if DEVELOPMENT else "lab.urls"
ASGI_APPLICATION = "lab.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ],
            **({"loaders": ["django.template.loaders.filesystem.Loader"]} if DEV else {}),
        },
    }
]

DATABASES = {
    "default": {
        "ENGINE": "lab.database",
        "NAME": DATA / "lab.sqlite3",
        # As long as the thread that made it (lab/web/threads.py).
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 10,
            # Deleted content is overwritten, so that an erased name is in no file: not all builds of SQLite do so.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
        },
        # In memory, which pytest-django chooses by itself only for Django's own backend.
        "TEST": {"NAME": ":memory:"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "sign-in"

# Browsers send cookies to every port of a host: two labs on one machine must not sign each other out.
SESSION_COOKIE_NAME = "highwater-" + hashlib.sha256(str(DATA).encode()).hexdigest()[:8]
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 90 * 24 * 3600
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "lab.web.pages.forged_form"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "lab.web.assets.static_files.BuildStorage"},
}

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "lab": {"level": "INFO"},
        # A refused request is an answer, not an incident.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "CRITICAL"},
        "kazoo": {"level": "CRITICAL"},
    },
}
