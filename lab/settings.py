"""Django's settings for Highwater."""

from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
INSTALLED_APPS = ["lab"]
USE_TZ = True
