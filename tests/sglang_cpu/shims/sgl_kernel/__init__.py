# mypy: disable-error-code="import-not-found"
"""SGLang's compiled kernels for a CPU, as far as a dense text model calls them: one function, in torch.

The real package holds hundreds of kernels; every other name is a stand-in that raises when called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stand_in import missing

if TYPE_CHECKING:
    from torch import Tensor

__version__ = "0.0.0"


def assign_req_to_token_pool_cpu(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    pool_len: int,
) -> None:
    """Note for each request where the KV of its new tokens lies.

    Args:
        req_pool_indices: [requests], the row of each request in the pool.
        req_to_token: [rows, pool_len], the pool; written in place.
        start_offset: [requests], first column to write.
        end_offset: [requests], one past the last column to write.
        out_cache_loc: [sum of new tokens], KV slots of all requests one after the other.
        pool_len: columns of the pool; the slices need no bound of their own.
    """
    slots = out_cache_loc.to(req_to_token.dtype)
    taken = 0
    for row, start, end in zip(
        req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=True
    ):
        req_to_token[row, start:end] = slots[taken : taken + end - start]
        taken += end - start


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return missing(f"sgl_kernel.{name}")
