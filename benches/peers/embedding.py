"""Embeddings and bags of embeddings, forwards and backwards, by torch."""

from __future__ import annotations

import torch
from torch.nn import functional

from data import uniform, zipf
from timing import DEVICE, Report, measure

SIZES = ((50_000, 256, 8_192), (50_000, 256, 65_536), (1 << 20, 128, 1 << 20))
"""Rows of the table, its columns, and how many are looked up."""


def run(report: Report) -> None:
    for rows, columns, count in SIZES:
        for data, index in (("uniform", uniform(rows, count)), ("zipf 1.05", zipf(rows, count))):
            table = torch.randn(rows, columns, device=DEVICE, requires_grad=True)
            gradient = torch.randn(count, columns, device=DEVICE)
            case = {
                "dtype": "f32",
                "rows": rows,
                "columns": columns,
                "data": f"{count} {data}",
            }

            def forward(table=table, index=index) -> torch.Tensor:
                return functional.embedding(index, table)

            measure_both(report, "embedding", "", table, gradient, forward, case)
            if rows == count:
                select_backward(report, table, index, gradient, case)
    bags(report)


def bags(report: Report, rows: int = 1 << 20, columns: int = 128) -> None:
    count, length = 1 << 15, 32
    table = torch.randn(rows, columns, device=DEVICE, requires_grad=True)
    index = uniform(rows, count * length)
    offsets = torch.arange(0, count * length, length, device=DEVICE)
    gradient = torch.randn(count, columns, device=DEVICE)
    for mode in ("sum", "mean", "max"):
        case = {
            "dtype": "f32",
            "rows": rows,
            "columns": columns,
            "data": f"{count} bags of {length}",
        }

        def forward(mode=mode) -> torch.Tensor:
            return functional.embedding_bag(index, table, offsets, mode=mode)

        measure_both(report, "embedding_bag", f" {mode}", table, gradient, forward, case)


def select_backward(report: Report, table, index, gradient, case: dict) -> None:
    """The gradient of a table of which rows were taken: zeros, and what is added to them."""

    def add() -> torch.Tensor:
        return torch.zeros_like(table).index_add_(0, index, gradient)

    with torch.no_grad():
        report.add("torch", "select backward", measure([add], 8), **case)


def measure_both(report: Report, op: str, mode: str, table, gradient, forward, case: dict) -> None:
    """The forward pass alone, and both passes."""

    def both() -> None:
        table.grad = None
        forward().backward(gradient)

    with torch.no_grad():
        report.add("torch", f"{op} forward{mode}", measure([forward], 8), **case)
    report.add("torch", f"{op} forward+backward{mode}", measure([both], 8), **case)
