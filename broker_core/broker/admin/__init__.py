"""Admin requests: configurations, quotas, SCRAM credentials, loggers, and requests that wait for metadata."""
