"""Random inputs that several sections share."""

from __future__ import annotations

import torch

from timing import DEVICE

ROWS = 1 << 20
"""Rows of a table, and indices into it."""
COLUMNS = 128
"""Columns of a table, where a section does not vary them."""
SETS = 2
"""Sets of buffers that launches rotate over."""


def dtype_name(dtype: torch.dtype) -> str:
    """The short name, as girih's benchmarks write it."""
    return {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]


def uniform(rows: int, count: int) -> torch.Tensor:
    """`count` indices, each row as likely as any other."""
    return torch.randint(0, rows, (count,), device=DEVICE)


def zipf(rows: int, count: int, exponent: float = 1.05) -> torch.Tensor:
    """`count` indices by Zipf's law, the frequent rows spread over the table."""
    ranks = torch.arange(1, rows + 1, device=DEVICE, dtype=torch.float64)
    cumulated = ranks.pow(-exponent).cumsum(0)
    cumulated /= cumulated[-1].clone()
    drawn = torch.rand(count, device=DEVICE, dtype=torch.float64)
    rank = torch.searchsorted(cumulated, drawn).clamp_(max=rows - 1)
    return torch.randperm(rows, device=DEVICE)[rank]


def one_hot_row(rows: int, count: int, share: float = 0.1) -> torch.Tensor:
    """Uniform indices, of which a `share` is replaced by one row."""
    index = uniform(rows, count)
    index[torch.rand(count, device=DEVICE) < share] = 7
    return index
