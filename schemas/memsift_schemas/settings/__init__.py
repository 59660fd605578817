"""Settings: an explicit argument beats the environment (`MEMSIFT_...`), which beats the default."""

from memsift_schemas.settings.base import PREFIX, Settings, load
from memsift_schemas.settings.gateway import GatewaySettings
from memsift_schemas.settings.producer import ProducerSettings
from memsift_schemas.settings.worker import WorkerSettings

__all__ = [
    "PREFIX",
    "GatewaySettings",
    "ProducerSettings",
    "Settings",
    "WorkerSettings",
    "load",
]
