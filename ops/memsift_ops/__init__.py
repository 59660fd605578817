"""What an operator runs: the `memsift` command."""
