"""Settings of the HTTP gateway; it is a frontend, so those of a frontend hold too."""

from __future__ import annotations

from pydantic import Field

from memsift_schemas.settings.producer import ProducerSettings


class GatewaySettings(ProducerSettings):
    """What an operator may set for the gateway."""

    gateway_keys: str = Field(
        "",
        description="TOML file with the API keys' hashes, as `memsift gateway key` prints them; read once, "
        "at start. Without it the gateway serves this machine alone.",
    )
    # 1,000 documents of 2,000 characters, of which three bytes each in Chinese are 6 MB.
    gateway_max_bytes: int = Field(
        8 * 1024 * 1024, ge=1_024, le=256 * 1024 * 1024, description="The largest request body."
    )
    # Cohere's own recommendation is at most 1,000 documents a call.
    gateway_max_documents: int = Field(
        1_000, ge=1, le=10_000, description="The most documents in one call of the plain dialects."
    )
    gateway_max_deadline_ms: int = Field(
        10_000,
        ge=1,
        le=600_000,
        description="The longest deadline that a call may ask for; a longer one counts as this.",
    )
    gateway_cors_origins: str = Field(
        "",
        description="Origins whose web pages may call the gateway, comma-separated, or `*`; none by default.",
    )

    gateway_metrics_port: int = Field(
        0, ge=0, le=65_535, description="Port of the gateway's `/metrics`; 0 counts and serves none."
    )
    gateway_ui: bool = Field(
        False,
        description="Serve a page to look at rankings, at `/ui/`; its calls need the same keys as all "
        "others, and it serves this machine alone.",
    )
    gateway_ui_public: bool = Field(
        False,
        description="Serve the page on other addresses too, where there are keys.",
    )

    @property
    def cors_origins(self) -> list[str]:
        """The origins one by one."""
        return [origin.strip() for origin in self.gateway_cors_origins.split(",") if origin.strip()]
