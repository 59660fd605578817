"""`memsift bench start`: how long until the first answer, and how much there is to install."""
