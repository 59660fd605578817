"""`memsift top`: what all workers' cards, the queue and the breaker say, once a second."""
