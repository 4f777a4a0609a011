"""Django's folder for template tags."""
