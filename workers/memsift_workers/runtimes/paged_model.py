"""A causal language model on OpenVINO with paged attention, whose answers are log-probabilities.

This drives the paged-attention model that OpenVINO GenAI's `ContinuousBatchingPipeline` (2026.4.1) runs, but
not through the pipeline, because its way to a prompt's log-probabilities (`echo`) is slow and has gaps:

- it projects every uncached prompt token onto the vocabulary and takes each log-softmax in a scalar loop on
  one thread; here both happen in the graph, and only for the tokens that are scored;
- it reuses whole blocks of 32 tokens, so up to 31 tokens of each memory are computed again per question;
- it returns no log-probability of a token whose predecessor was cached, and two prompts of one batch that
  continue the same partly filled block overwrite each other's keys (wrong by up to 2.6 when tried).

CPU time for 20 memories of 40-110 tokens and a new question of 14 (SmolLM2-135M, two cores of an AMD Zen 5):
519 ms with the pipeline as it comes, 258 ms with prompts padded to block borders, 217 ms here; before
anything is cached 1415, 1230 and 933 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import openvino as ov
import openvino.opset13 as ops
from openvino._offline_transformations import paged_attention_transformation

BLOCK_SIZE = 32
"""Tokens per KV block; the CPU plugin's paged attention takes no other."""
_TOKEN_INPUTS = frozenset(
    {
        "input_ids",
        "position_ids",
        "past_lens",
        "subsequence_begins",
        "block_indices",
        "block_indices_begins",
        "max_context_len",
    }
)


class UnsupportedModel(Exception):
    """The model is no decoder-only language model that this module understands."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A run of consecutive tokens of one sequence, to be computed in one step.

    Attributes:
        tokens: the new tokens.
        past: how many tokens of the sequence are computed already.
        blocks: the sequence's KV blocks, enough for `past + len(tokens)` tokens.
        wanted: pairs of (index into `tokens`, token id): the log-probability of the id as the next token.
    """

    tokens: Sequence[int] = field(repr=False)
    past: int
    blocks: Sequence[int]
    wanted: Sequence[tuple[int, int]] = field(default=(), repr=False)


class PagedModel:
    """Computes slices of sequences. Its KV blocks belong to the caller, who decides what is in which.

    Not safe for use by several threads. `forward` releases the GIL while it computes.

    Args:
        folder: with `openvino_model.xml`.
        cache_mb: size of all KV blocks together, in MiB.
        threads: of the CPU; 0 takes one per core.

    Raises:
        UnsupportedModel: the graph is not what is expected.
    """

    block_size = BLOCK_SIZE

    def __init__(self, folder: Path, *, cache_mb: int, threads: int = 0) -> None:
        core = ov.Core()
        model = scoring_model(core.read_model(folder / "openvino_model.xml"))
        self._request = core.compile_model(model, "CPU", _properties(threads)).create_infer_request()
        self._cache = self._allocate(cache_mb << 20)
        self.blocks = self._cache[0].shape[0]

    def forward(self, slices: Sequence[Slice]) -> npt.NDArray[np.float32]:
        """Compute the slices, filling their KV blocks; the log-probabilities wanted, slice after slice.

        A row's result does not depend on the other rows: on a CPU with AVX-512 the same sequence gives the
        same bits in any batch and from any mix of cached and new blocks, and nearly the same elsewhere
        (`tests/workers/runtimes/test_embedded.py`).
        """
        request = self._request
        for name, values in _inputs(slices).items():
            request.set_tensor(name, ov.Tensor(values))
        request.infer()
        return np.array(request.get_output_tensor(0).data, dtype=np.float32)

    def copy(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copy whole KV blocks."""
        for tensor in self._cache:
            tensor[list(targets)] = tensor[list(sources)]

    def _allocate(self, size: int) -> list[npt.NDArray[Any]]:
        """Split `size` bytes into blocks over all layers. The memory is only touched as blocks are used."""
        inputs = {port.get_any_name(): port for port in self._request.get_compiled_model().inputs}
        caches = {
            name: port for name, port in inputs.items() if name.startswith(("key_cache", "value_cache"))
        }
        shapes = {name: [d.get_length() for d in list(p.partial_shape)[1:]] for name, p in caches.items()}
        per_block = sum(int(np.prod(shapes[name])) * caches[name].element_type.size for name in caches)
        views = []
        for name, port in caches.items():
            tensor = ov.Tensor(port.element_type, ov.Shape([max(1, size // per_block), *shapes[name]]))
            self._request.set_tensor(name, tensor)
            views.append(tensor.data)
        return views


def scoring_model(model: ov.Model) -> ov.Model:
    """Turn a stateful language model into one with paged attention and log-probabilities as its output.

    New inputs: `rows` (indices of the tokens whose prediction is read) and `picks` (pairs of an index into
    `rows` and a token id).

    Raises:
        UnsupportedModel: see the message.
    """
    try:
        paged_attention_transformation(model)
    except RuntimeError:
        raise UnsupportedModel("OpenVINO cannot give this model paged attention") from None
    unknown = {port.get_any_name() for port in model.inputs if not _is_known(port.get_any_name())}
    if unknown:
        raise UnsupportedModel(f"the model wants more than tokens: {', '.join(sorted(unknown))}")
    rows = ops.parameter([-1], ov.Type.i64, name="rows")
    picks = ops.parameter([-1, 2], ov.Type.i64, name="picks")
    for parameter in (rows, picks):
        parameter.output(0).set_names({parameter.get_friendly_name()})
    projection = _projection(model)
    # Before the projection onto the vocabulary, which costs as much as a quarter of all layers.
    chosen = ops.gather(projection.input_value(0), rows, ops.constant(0, ov.Type.i64))
    projection.input(0).replace_source_output(chosen.output(0))
    logits = model.get_results()[0].input_value(0)  # [rows, 1, vocabulary]
    logprobs = ops.log_softmax(ops.squeeze(logits, ops.constant([1], ov.Type.i64)), 1)
    result = ops.result(ops.gather_nd(logprobs, picks))
    return ov.Model([result], [*model.get_parameters(), rows, picks], "scoring")


def _is_known(name: str) -> bool:
    return name in _TOKEN_INPUTS or name.startswith(("key_cache.", "value_cache."))


def _projection(model: ov.Model) -> ov.Node:
    """The projection onto the vocabulary: the last MatMul. Behind it comes a soft cap or a bias at most."""
    node = model.get_results()[0].input_value(0).get_node()
    for _ in range(5):
        if node.get_type_name() == "MatMul":
            return node
        node = node.input_value(0).get_node()
    raise UnsupportedModel("no projection onto a vocabulary was found")


def _properties(threads: int) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "PERFORMANCE_HINT": "LATENCY",
        # Half the memory of bf16, at 0.04 of root-mean-square error per token; the 8-bit activations of
        # 4-bit weights cost 0.12.
        "KV_CACHE_PRECISION": "u8",
        # By channel, a block's keys would share scales, and a token's key would depend on those after it.
        "KEY_CACHE_QUANT_MODE": "BY_TOKEN",
        # Two workers on one machine would be pinned to the same cores.
        "ENABLE_CPU_PINNING": False,
    }
    if threads:
        properties["INFERENCE_NUM_THREADS"] = threads
    return properties


def _inputs(slices: Sequence[Slice]) -> dict[str, npt.NDArray[Any]]:
    """The ragged batch as the flat arrays that paged attention takes."""
    lengths = [len(one.tokens) for one in slices]
    tables = [one.blocks[: -(-(one.past + n) // BLOCK_SIZE)] for one, n in zip(slices, lengths, strict=True)]
    begins = np.concatenate(([0], np.cumsum(lengths)))
    rows, picks = _wanted(slices, begins)
    return {
        "input_ids": np.fromiter((t for one in slices for t in one.tokens), np.int64, begins[-1]),
        "position_ids": np.concatenate(
            [np.arange(one.past, one.past + size) for one, size in zip(slices, lengths, strict=True)]
        ).astype(np.int64),
        "past_lens": np.array([one.past for one in slices], np.int32),
        "subsequence_begins": begins.astype(np.int32),
        "block_indices": np.array([block for table in tables for block in table], np.int32),
        "block_indices_begins": np.cumsum([0, *(len(table) for table in tables)]).astype(np.int32),
        "max_context_len": np.array(max(o.past + n for o, n in zip(slices, lengths, strict=True)), np.int32),
        "rows": rows,
        "picks": picks,
    }


def _wanted(
    slices: Sequence[Slice], begins: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each token whose prediction is read once, and the pairs that are read from them."""
    rows: list[int] = []
    picks: list[tuple[int, int]] = []
    for row, token in _flat(slices, begins):
        if not rows or rows[-1] != row:
            rows.append(row)
        picks.append((len(rows) - 1, token))
    return np.array(rows, np.int64), np.array(picks, np.int64).reshape(-1, 2)


def _flat(slices: Sequence[Slice], begins: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    for begin, one in zip(begins.tolist(), slices, strict=False):
        for index, token in one.wanted:
            yield begin + index, token
