"""The lab's own clients. They are nodes like the brokers and go through the same APIs as everybody else."""
