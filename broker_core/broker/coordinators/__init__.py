"""What the group and transaction coordinators need of their broker: appends, markers, verification."""
