"""The cards and models that are known, and how a table of one's own is read."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from memsift_ops.errors import Refused
from memsift_schemas.errors import describe

CARDS = Path(__file__).with_name("cards.toml")
MODELS = Path(__file__).with_name("models.toml")


class Card(BaseModel):
    """One GPU.

    Attributes:
        memory_gb: in 10^9 bytes, as data sheets say it. Where memory has ECC, the driver shows that much.
        bandwidth_gb_s: of its memory, 10^9 bytes a second.
        bf16_tflops: dense peak, accumulating in 32 bits.
        fp8_tflops: likewise; None where fp8 is computed as bf16.
        usd_per_hour: what an hour costs; None when nobody told.
        price_source: where the price is from.
        source: where the other numbers are from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    memory_gb: PositiveFloat
    bandwidth_gb_s: PositiveFloat
    bf16_tflops: PositiveFloat
    fp8_tflops: PositiveFloat | None = None
    usd_per_hour: float | None = Field(None, ge=0)
    price_source: str = ""
    source: str


class Model(BaseModel):
    """A decoder with grouped-query attention and a gated MLP, in the words of its config.json."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    hidden_size: PositiveInt
    intermediate_size: PositiveInt
    num_hidden_layers: PositiveInt
    num_attention_heads: PositiveInt
    num_key_value_heads: PositiveInt
    head_dim: PositiveInt
    vocab_size: PositiveInt
    tie_word_embeddings: bool = False
    source: str

    @model_validator(mode="before")
    @classmethod
    def _usual_head(cls, values: Any) -> Any:
        """Older config.json files have no `head_dim`: all heads together are as wide as the model."""
        sizes = ("hidden_size", "num_attention_heads")
        if isinstance(values, dict) and "head_dim" not in values and all(values.get(size) for size in sizes):
            return {**values, "head_dim": values["hidden_size"] // values["num_attention_heads"]}
        return values

    @property
    def layer_parameters(self) -> int:
        """Of all layers: what each token is multiplied with."""
        queries = self.num_attention_heads * self.head_dim
        keys = self.num_key_value_heads * self.head_dim
        attention = 2 * self.hidden_size * (queries + keys)
        mlp = 3 * self.hidden_size * self.intermediate_size
        return self.num_hidden_layers * (attention + mlp)

    @property
    def vocabulary_parameters(self) -> int:
        """Of one projection between the model's width and its vocabulary."""
        return self.vocab_size * self.hidden_size

    @property
    def embedding_parameters(self) -> int:
        """Of the embedding, and of the output projection where it is another matrix."""
        return self.vocabulary_parameters * (1 if self.tie_word_embeddings else 2)

    @property
    def kv_elements(self) -> int:
        """Numbers that are kept for one token: a key and a value for each layer and key-value head."""
        return 2 * self.num_hidden_layers * self.num_key_value_heads * self.head_dim

    @classmethod
    def shipped(cls, name: str) -> Self:
        """One that comes with the package."""
        return cls(name=name, **_toml(MODELS)[name])


Row = TypeVar("Row", Card, Model)


def card(wanted: str) -> Card:
    """A card by its name in the table, or of a TOML file.

    Raises:
        Refused: there is no such card or file; names those there are.
    """
    return _find(Card, wanted, CARDS, "--card")


def model(wanted: str) -> Model:
    """A model by its name in the table, or of a TOML file or a config.json.

    Raises:
        Refused: there is no such model or file; names those there are.
    """
    return _find(Model, wanted, MODELS, "--model")


def cards() -> list[Card]:
    """All cards of the table."""
    return [Card(name=name, **row) for name, row in _toml(CARDS).items()]


def models() -> list[Model]:
    """All models of the table."""
    return [Model(name=name, **row) for name, row in _toml(MODELS).items()]


def _find(kind: type[Row], wanted: str, shipped: Path, option: str) -> Row:
    known = _toml(shipped)
    if wanted in known:
        return kind(name=wanted, **known[wanted])
    path = Path(wanted)
    if path.suffix not in (".toml", ".json"):
        raise Refused(f"{option} {wanted}: there is {', '.join(known)}; or name a TOML file with yours")
    try:
        return kind(**{"name": path.stem, "source": path.name, **_read(path)})
    except OSError as error:
        raise Refused(f"{option} {wanted} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise Refused(
            f"{option} {wanted}: {describe(error)}; see `memsift plan --list` for the keys"
        ) from None
    except ValueError as error:
        raise Refused(f"{option} {wanted} is neither TOML nor JSON: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    """The keys of a file; one table in it, as in ours, is that table."""
    read = json.loads(path.read_text()) if path.suffix == ".json" else _toml(path)
    if isinstance(read, dict) and len(read) == 1:
        (name, only), *_ = read.items()
        return {"name": name, **only} if isinstance(only, dict) else read
    if not isinstance(read, dict):
        raise ValueError("it holds no table")
    return read


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
