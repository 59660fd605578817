"""`memsift bench batch`: what micro-batches gain on the real engine, and which settings fit this machine."""
