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
    steps(report)


def steps(report: Report, rows: int = 1 << 20, columns: int = 128, count: int = 1 << 16) -> None:
    """Gradients of few rows, and the steps of optimisers on them."""
    case = {"dtype": "f32", "rows": rows, "columns": columns}
    slopes = torch.randn(count, columns, device=DEVICE)
    size = (rows, columns)
    index = uniform(rows, count)

    def combine() -> torch.Tensor:
        return torch.sparse_coo_tensor(index[None], slopes, size, check_invariants=False).coalesce()

    time = measure([combine], 20)
    report.add("torch", "combine_rows", time, **case, data=f"{count} uniform")
    # Distinct rows in order, as girih's: one in each of as many parts of the table.
    part = rows // count
    distinct = torch.arange(0, rows, part, device=DEVICE) + uniform(part, count)
    gradient = torch.sparse_coo_tensor(distinct[None], slopes, size, is_coalesced=True)
    optimisers = {
        "sgd": lambda table: torch.optim.SGD([table], lr=0.125),
        "adagrad": lambda table: torch.optim.Adagrad([table], lr=0.125),
        "adam": lambda table: torch.optim.SparseAdam([table], lr=0.125),
    }
    for name, make in optimisers.items():

        def measured(name: str = name, make=make) -> None:
            table = torch.nn.Parameter(torch.randn(rows, columns, device=DEVICE))
            optimiser = make(table)
            table.grad = gradient
            time = measure([optimiser.step], 20)
            data = f"{count} distinct"
            report.add("torch", f"sparse_step {name}", time, **case, data=data)

        report.attempt(f"torch sparse step {name}", measured)


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
