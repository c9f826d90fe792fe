"""out[index[n], :] += source[n, :], other reductions into rows, and out[index[n], :] = source[n, :]."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from data import COLUMNS, ROWS, SETS, one_hot_row, uniform, zipf
from timing import DEVICE, Report, measure, rotated

ROW = COLUMNS * 4
MOVED_F32 = ROWS * (3 * ROW + 8)
"""A model: each source row read, its destination read and written, an index of 64 bits read."""
SET_F32 = ROWS * (2 * ROW + 8)
"""Each source row read, its destination written, an index of 64 bits read."""
TILES = ((8, 4), (16, 4), (32, 8))
"""Rows and warps of a Triton program."""


@triton.jit
def add_rows(source, index, out, columns: tl.constexpr, rows: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * rows
    row = first + tl.arange(0, rows)
    target = tl.load(index + row).to(tl.int64)
    column = tl.arange(0, columns)
    values = tl.load(source + row[:, None] * columns + column[None, :])
    tl.atomic_add(out + target[:, None] * columns + column[None, :], values, sem="relaxed")


@triton.jit
def set_rows(source, index, out, columns: tl.constexpr, rows: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * rows
    row = first + tl.arange(0, rows)
    target = tl.load(index + row).to(tl.int64)
    column = tl.arange(0, columns)
    values = tl.load(source + row[:, None] * columns + column[None, :])
    tl.store(out + target[:, None] * columns + column[None, :], values)


def run(report: Report) -> None:
    source = [torch.randn(ROWS, COLUMNS, device=DEVICE) for _ in range(SETS)]
    out = [torch.zeros(ROWS, COLUMNS, device=DEVICE) for _ in range(SETS)]
    check(report, source[0])
    for data, index in distributions():
        case = {"dtype": "f32", "rows": ROWS, "columns": COLUMNS, "data": data}

        def add(i: int, index: torch.Tensor = index) -> None:
            out[i].index_add_(0, index, source[i])

        report.add("torch", "scatter_add", measure(rotated(SETS, add)), moved=MOVED_F32, **case)
        torch.use_deterministic_algorithms(True)
        report.attempt(
            f"torch deterministic index_add_, {data}",
            lambda add=add, case=case: report.add(
                "torch",
                "scatter_add deterministic",
                measure(rotated(SETS, add), 4, 2, 1),
                moved=MOVED_F32,
                **case,
            ),
        )
        torch.use_deterministic_algorithms(False)
        with_triton(report, source, out, index.int(), case)
    others(report, source, out)
    assign(report, source, out)


def distributions() -> list[tuple[str, torch.Tensor]]:
    """Where the rows go, from spread to contended."""
    return [
        ("uniform", uniform(ROWS, ROWS)),
        ("zipf 1.05", zipf(ROWS, ROWS)),
        ("10 % in one row", one_hot_row(ROWS, ROWS)),
        ("one row", torch.zeros(ROWS, device=DEVICE, dtype=torch.long)),
        ("sorted", uniform(ROWS, ROWS).sort().values),
        ("1024 rows", uniform(1024, ROWS)),
        ("16 rows", uniform(16, ROWS)),
    ]


def with_triton(report: Report, source: list, out: list, index: torch.Tensor, case: dict) -> None:
    moved = MOVED_F32 - ROWS * 4
    for rows, warps in TILES:

        def launch(i: int, rows: int = rows, warps: int = warps) -> None:
            grid = (ROWS // rows,)
            add_rows[grid](source[i], index, out[i], COLUMNS, rows, num_warps=warps)

        time = measure(rotated(SETS, launch))
        report.add(
            "triton", "scatter_add", time, moved=moved, rows_per_program=rows, warps=warps, **case
        )


def others(report: Report, source: list, out: list) -> None:
    """bf16, and reductions other than the sum."""
    index = uniform(ROWS, ROWS)
    case = {"rows": ROWS, "columns": COLUMNS, "data": "uniform"}
    index_of_each = index[:, None].expand(ROWS, COLUMNS)
    for reduction in ("sum", "amax", "mean"):

        def reduce(i: int, reduction: str = reduction) -> None:
            out[i].scatter_reduce_(0, index_of_each, source[i], reduction)

        time = measure(rotated(SETS, reduce), 10)
        report.add(
            "torch", f"scatter_reduce {reduction}", time, moved=MOVED_F32, dtype="f32", **case
        )
    narrow_source = [values.bfloat16() for values in source]
    narrow_out = [values.bfloat16() for values in out]
    short_source = [values[:, :1].contiguous() for values in source]
    short_out = [values[:, :1].contiguous() for values in out]
    for data, index in distributions():
        if data not in ("uniform", "zipf 1.05", "one row"):
            continue

        def add_narrow(i: int, index: torch.Tensor = index) -> None:
            narrow_out[i].index_add_(0, index, narrow_source[i])

        def add_short(i: int, index: torch.Tensor = index) -> None:
            short_out[i].index_add_(0, index, short_source[i])

        moved = ROWS * (3 * COLUMNS * 2 + 8)
        case = {"rows": ROWS, "columns": COLUMNS, "data": data}
        time = measure(rotated(SETS, add_narrow), 10)
        report.add("torch", "scatter_add", time, moved=moved, dtype="bf16", **case)
        time = measure(rotated(SETS, add_short), 10)
        case = {"rows": ROWS, "columns": 1, "data": data}
        report.add("torch", "scatter_add", time, moved=ROWS * (3 * 4 + 8), dtype="f32", **case)


def assign(report: Report, source: list, out: list) -> None:
    """Rows that replace what was there; of several for one place, any stays."""
    index = uniform(ROWS, ROWS)
    narrow = index.int()
    case = {"dtype": "f32", "rows": ROWS, "columns": COLUMNS, "data": "uniform"}
    time = measure(rotated(SETS, lambda i: out[i].index_copy_(0, index, source[i])))
    report.add("torch", "scatter_set", time, moved=SET_F32, index="i64", **case)
    # Without two rows for one place there is one right answer.
    permutation = torch.randperm(ROWS, device=DEVICE)
    for rows, warps in TILES:

        def launch(i: int, index: torch.Tensor = narrow, rows: int = rows, warps: int = warps):
            set_rows[(ROWS // rows,)](source[i], index, out[i], COLUMNS, rows, num_warps=warps)

        launch(0, permutation.int())
        if not torch.equal(out[0][permutation], source[0]):
            raise AssertionError("triton set wrong rows")
        time = measure(rotated(SETS, launch))
        report.add(
            "triton",
            "scatter_set",
            time,
            moved=SET_F32 - ROWS * 4,
            index="i32",
            rows_per_program=rows,
            warps=warps,
            **case,
        )


def check(report: Report, source: torch.Tensor) -> None:
    """Both peers against the sum in double precision."""
    index = uniform(ROWS, ROWS)
    right = torch.zeros(ROWS, COLUMNS, device=DEVICE, dtype=torch.float64)
    right.index_add_(0, index, source.double())
    by_torch = torch.zeros(ROWS, COLUMNS, device=DEVICE).index_add_(0, index, source)
    by_triton = torch.zeros(ROWS, COLUMNS, device=DEVICE)
    add_rows[(ROWS // 8,)](source, index.int(), by_triton, COLUMNS, 8, num_warps=4)
    for peer, sums in (("torch", by_torch), ("triton", by_triton)):
        error = ((sums - right).norm() / right.norm()).item()
        if error > 1e-6:
            raise AssertionError(f"{peer} scatter_add is off by {error:.1e}, relatively")
