# mypy: disable-error-code="import-not-found"
"""A plugin for SGLang's `torch_native` attention that makes a prefix cache worth something on a CPU.

As it comes, the backend pads the queries of a request with one garbage row per cached token and throws those
rows away after the attention, so a cached prefix saves the projections but not the attention. Here the rows
of the new tokens are the only ones. Measured on two cores with a shared prefix of 1,340 tokens: time to the
first token 0.2 s against 0.55 s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def register() -> None:
    """Entry point of the group `sglang.srt.plugins`: replace the method once, in the CPU engine alone."""
    if os.environ.get("SGLANG_USE_CPU_ENGINE") != "1":
        return
    from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend

    original = TorchNativeAttnBackend._run_sdpa_forward_extend
    TorchNativeAttnBackend._run_sdpa_forward_extend = _only_new_rows(original)


def _only_new_rows(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Wrap the backend's method: plain causal self-attention here, anything else as it was."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def extend(self: Any, *tensors: Tensor, **options: Any) -> Tensor:
        """Fill `output` [new tokens, heads, head size] for all requests of the batch."""
        query, output, keys, values, slots, rows, totals, cached_lens, new_lens, encoder_lens = tensors
        window = options.get("sliding_window_size")
        if not options["causal"] or encoder_lens is not None or (window is not None and window > -1):
            return original(self, *tensors, **options)
        done = 0
        for row, total, cached, new in zip(
            rows.tolist(), totals.tolist(), cached_lens.tolist(), new_lens.tolist(), strict=True
        ):
            mask = torch.ones(new, total, dtype=torch.bool).tril(diagonal=cached) if cached else None
            attended = scaled_dot_product_attention(
                query[done : done + new].transpose(0, 1).unsqueeze(0),
                keys[slots[row, :total]].to(query.dtype).transpose(0, 1).unsqueeze(0),
                values[slots[row, :total]].to(query.dtype).transpose(0, 1).unsqueeze(0),
                attn_mask=mask,
                is_causal=mask is None,
                scale=options["scaling"],
                enable_gqa=options["enable_gqa"],
            )
            output[done : done + new] = attended.squeeze(0).transpose(0, 1)
            done += new
        return output

    return extend
