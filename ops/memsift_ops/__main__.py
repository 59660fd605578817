"""`python -m memsift_ops` is the `memsift` command."""

from memsift_ops.cli import main

if __name__ == "__main__":
    main()
