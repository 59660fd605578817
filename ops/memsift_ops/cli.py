"""The entry point `memsift`: says which packages are missing before anything that needs them is imported."""

from __future__ import annotations

import importlib
import sys

# Where the modules of the extra `all` come from that a base install lacks.
REMEDY = "pip install 'memsift[all]'"


def main() -> None:
    """Run the command line and exit with its code; see `memsift_ops.group`."""
    try:
        if sys.argv[1:2] != ["healthcheck"]:  # which is to be fast, and logs nothing
            importlib.import_module("memsift_schemas.logs").start_for_command()
        code = importlib.import_module("memsift_ops.group").run(sys.argv[1:])
    except ModuleNotFoundError as error:
        sys.stderr.write(f"memsift: the Python package {error.name} is missing: {REMEDY}\n")
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
