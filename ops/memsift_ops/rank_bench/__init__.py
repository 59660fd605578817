"""`memsift bench rank`: quality and time of memsift's rankers and of those that a user would take instead."""
