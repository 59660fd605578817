"""What a user would pick instead of memsift's queue, each in a virtual environment of its own."""
