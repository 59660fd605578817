"""The contract between frontends and workers: models, limits, wire format; and, apart, the settings."""

from memsift_schemas.clock import Clock, ServerClock, SystemClock
from memsift_schemas.errors import InvalidInput, JobTooLarge, SettingsError, UnknownVersion
from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Kind, Memory, Turn
from memsift_schemas.result import Cause, Ranked, Refusal, RerankResult, Source

__all__ = [
    "Cause",
    "Clock",
    "InvalidInput",
    "JobTooLarge",
    "Kind",
    "Memory",
    "Ranked",
    "Refusal",
    "RerankJob",
    "RerankResult",
    "ServerClock",
    "SettingsError",
    "Source",
    "SystemClock",
    "Turn",
    "UnknownVersion",
]
