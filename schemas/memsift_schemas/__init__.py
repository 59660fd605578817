"""The contract between frontends and workers: models, limits, wire format, settings."""

from memsift_schemas.clock import Clock, ServerClock, SystemClock
from memsift_schemas.errors import InvalidInput, JobTooLarge, SettingsError, UnknownVersion
from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Kind, Memory, Turn
from memsift_schemas.result import Cause, Ranked, Refusal, RerankResult, Source
from memsift_schemas.settings import GatewaySettings, ProducerSettings, Settings, WorkerSettings

__all__ = [
    "Cause",
    "Clock",
    "GatewaySettings",
    "InvalidInput",
    "JobTooLarge",
    "Kind",
    "Memory",
    "ProducerSettings",
    "Ranked",
    "Refusal",
    "RerankJob",
    "RerankResult",
    "ServerClock",
    "Settings",
    "SettingsError",
    "Source",
    "SystemClock",
    "Turn",
    "UnknownVersion",
    "WorkerSettings",
]
