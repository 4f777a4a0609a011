"""The lab's own clients. They are nodes like the brokers and use the same APIs as any client."""
