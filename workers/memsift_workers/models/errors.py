"""What can go wrong with a model's files, told apart by what the caller must do."""

from __future__ import annotations

from memsift_workers.runtimes.base import RuntimeMisconfigured


class ModelMissing(RuntimeMisconfigured):
    """There is no such model on this machine; the message names the command that fetches one."""


class ModelUnusable(RuntimeMisconfigured):
    """The files are there, but not in a form that the embedded runtime reads."""


class PullFailed(Exception):
    """The download did not come through (network, registry, no pip). Trying again may work."""


class DigestMismatch(PullFailed):
    """What was downloaded is not what was published; it has been removed."""
