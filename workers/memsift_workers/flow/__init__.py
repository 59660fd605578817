"""What keeps a worker useful under load and faults: time, limits, cancellation, quarantine, rescue."""
