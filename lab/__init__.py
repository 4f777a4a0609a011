"""The Django project and app: everything of Highwater that is not the core."""
