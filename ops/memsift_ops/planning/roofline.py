"""How long a card takes for a batch, and how many tokens it keeps.

The roofline model (Williams, Waterman, Patterson 2009, "Roofline", doi:10.1145/1498765.1498785): a batch
takes as long as its arithmetic or its memory traffic, whichever is longer, and a fixed time besides:

    seconds = max(linear FLOP / peak + attention FLOP / bf16 peak, bytes / bandwidth) + overhead

Linear FLOP are 2 for each parameter of the layers and each computed token, and for each projection onto the
vocabulary. Attention takes 4 x layers x heads x head size for each pair of a computed token and one that it
sees. Bytes are the weights once, and keys and values of every token read or written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memsift_ops.planning.hardware import Card, Model

Weights = Literal["bf16", "fp8", "int4"]
Kv = Literal["bf16", "fp8"]

# int4: a 16-bit scale and a zero point for each 128 weights.
WEIGHT_BYTES: dict[Weights, float] = {"bf16": 2.0, "fp8": 1.0, "int4": 0.5 + 3 / 128}
KV_BYTES: dict[Kv, int] = {"bf16": 2, "fp8": 1}
# Quantised checkpoints leave the embedding as it is.
EMBEDDING_BYTES = 2


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What of a card's peak is reached, and what comes on top. All are assumptions until they are measured.

    Attributes:
        compute: share of the peak FLOP/s; 0.6 is the design's figure for a 4090.
        bandwidth: share of the memory's bandwidth.
        memory: share of the memory for weights and KV; the rest is activations, CUDA graphs and the driver
            (`--mem-fraction-static` of SGLang).
        overhead_s: for each batch: launches, scheduling, tokenizing, HTTP.
    """

    compute: float = 0.6
    bandwidth: float = 0.8
    memory: float = 0.85
    overhead_s: float = 0.005


@dataclass(frozen=True, slots=True)
class Work:
    """What one call makes a card do, summed over its prompts.

    Attributes:
        tokens: that are computed.
        pairs: of a computed token and one that it attends to.
        rows: projections onto the vocabulary.
        seen: tokens whose keys and values are read or written.
        prompts: that it is made of.
    """

    tokens: float
    pairs: float
    rows: float
    seen: float
    prompts: int = 1


@dataclass(frozen=True, slots=True)
class Roofline:
    """Seconds for what a batch adds up to.

    Attributes:
        per_token: seconds of arithmetic for each computed token.
        per_pair: seconds of attention for each pair of tokens.
        per_row: seconds for each projection onto the vocabulary.
        per_batch_read: seconds to read the weights.
        per_seen: seconds to read or write one token's KV.
        overhead: seconds for each batch.
        per_prompt: seconds for each prompt; not known for cards, fitted to the embedded engine.
    """

    per_token: float
    per_pair: float
    per_row: float
    per_batch_read: float
    per_seen: float
    overhead: float
    per_prompt: float = 0.0

    @classmethod
    def of(cls, card: Card, model: Model, weights: Weights, kv: Kv, efficiency: Efficiency) -> Roofline:
        """From data sheets. Weights of 4 bits, and fp8 on a card without it, are multiplied as bf16."""
        bf16 = card.bf16_tflops * 1e12 * efficiency.compute
        fp8 = card.fp8_tflops * 1e12 * efficiency.compute if card.fp8_tflops else bf16
        linear = fp8 if weights == "fp8" else bf16
        bandwidth = card.bandwidth_gb_s * 1e9 * efficiency.bandwidth
        return cls(
            per_token=2 * model.layer_parameters / linear,
            per_pair=attention_flop(model) / bf16,
            per_row=2 * model.vocabulary_parameters / bf16,
            per_batch_read=weight_bytes(model, weights) / bandwidth,
            per_seen=kv_bytes(model, kv) / bandwidth,
            overhead=efficiency.overhead_s,
        )

    def seconds(self, work: Work) -> float:
        """Of a batch."""
        arithmetic = work.tokens * self.per_token + work.pairs * self.per_pair + work.rows * self.per_row
        arithmetic += work.prompts * self.per_prompt
        return max(arithmetic, self.per_batch_read + work.seen * self.per_seen) + self.overhead


def attention_flop(model: Model) -> int:
    """For each pair: a multiply-add for the score and one for the value, in each head's every dimension."""
    return 4 * model.num_hidden_layers * model.num_attention_heads * model.head_dim


def weight_bytes(model: Model, weights: Weights) -> float:
    """Of the whole model."""
    return WEIGHT_BYTES[weights] * model.layer_parameters + EMBEDDING_BYTES * model.embedding_parameters


def kv_bytes(model: Model, kv: Kv) -> int:
    """Of one token."""
    return KV_BYTES[kv] * model.kv_elements


def room(card: Card, model: Model, weights: Weights, kv: Kv, efficiency: Efficiency) -> int:
    """Tokens whose KV fits beside the weights; 0 or less when not even the weights fit."""
    left = card.memory_gb * 1e9 * efficiency.memory - weight_bytes(model, weights)
    return int(left // kv_bytes(model, kv))
