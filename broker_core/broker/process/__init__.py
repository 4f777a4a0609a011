"""The broker's process: its parts, its life cycle, and the routing of requests, responses, timers and watches."""
