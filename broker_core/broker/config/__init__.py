"""The broker's configuration: static, dynamic, and that of topics and other entities."""
