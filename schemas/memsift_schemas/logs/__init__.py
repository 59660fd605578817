"""Logs of processes that are memsift's own: one line per event, for people or for machines.

A frontend that imports memsift keeps its own logging: only processes of ours call `start`.
"""

from memsift_schemas.logs.setup import is_json, start, start_for_command

__all__ = ["is_json", "start", "start_for_command"]
