"""Elements along an axis, rows in pages, and gathers as multiplications with one-hot matrices; the same workloads as girih's
(`benches/src/lookups.rs`)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from data import COLUMNS, ROWS, SETS, dtype_name, uniform
from timing import DEVICE, Report, measure, rotated

PAGE = 16
ENTRIES = 64
ONE_HOT_ROWS = 8192
"""Rows whose one-hot matrix of bf16 takes 128 MiB."""
FUSED = (8192, 1 << 16, 1024)
"""Rows that are gathered and multiplied, those of the table, and the extent of the square matrix."""
WARPS = (2, 4, 8)
"""Warps of a Triton program."""


@triton.jit
def paged_rows(
    pages, table, offsets, out, entries, columns: tl.constexpr, page: tl.constexpr
):
    """One program does one page of one sequence."""
    sequence = tl.program_id(0)
    entry = tl.program_id(1)
    first = tl.load(offsets + sequence).to(tl.int64)
    end = tl.load(offsets + sequence + 1).to(tl.int64)
    place = tl.load(table + sequence * entries + entry).to(tl.int64)
    within = tl.arange(0, page)
    row = first + entry * page + within
    column = tl.arange(0, columns)
    values = tl.load(pages + (place * page + within)[:, None] * columns + column[None, :])
    tl.store(out + row[:, None] * columns + column[None, :], values, mask=(row < end)[:, None])


def run(report: Report) -> None:
    for part in (along_rows, along_columns, pages, one_hot, fused):
        # One that fails does not keep the others from being measured.
        report.attempt(f"lookup {part.__name__}", lambda part=part: part(report))
        torch.cuda.empty_cache()


def case(**others: object) -> dict[str, object]:
    return {"dtype": "f32", "rows": ROWS, "columns": COLUMNS, "data": "uniform", **others}


def tables() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLUMNS, device=DEVICE) for _ in range(SETS)]


def along_rows(report: Report) -> None:
    table = tables()
    index = [torch.randint(0, COLUMNS, (ROWS, COLUMNS), device=DEVICE) for _ in range(SETS)]
    out = [torch.empty_like(values) for values in table]
    time = measure(rotated(SETS, lambda i: torch.gather(table[i], 1, index[i], out=out[i])), 20)
    # torch's indices have 64 bits.
    moved = ROWS * COLUMNS * (4 + 4 + 8)
    report.add("torch", "take_along_rows", time, moved=moved, **case(index="i64"))
    for values in out:
        values.zero_()
    time = measure(rotated(SETS, lambda i: out[i].scatter_add_(1, index[i], table[i])), 20)
    moved = ROWS * COLUMNS * (3 * 4 + 8)
    report.add("torch", "add_along_rows", time, moved=moved, **case(index="i64"))


def along_columns(report: Report) -> None:
    table = tables()
    index = [torch.randint(0, ROWS, (ROWS, COLUMNS), device=DEVICE) for _ in range(SETS)]
    out = [torch.empty_like(values) for values in table]
    time = measure(rotated(SETS, lambda i: torch.gather(table[i], 0, index[i], out=out[i])), 20)
    moved = ROWS * COLUMNS * (4 + 4 + 8)
    report.add("torch", "take_along_columns", time, moved=moved, **case(index="i64"))


def pages(report: Report) -> None:
    """Sequences of 1024 rows in pages of 16; torch gathers whole pages, which fits since no sequence ends within one."""
    count = ROWS // PAGE
    sequences = count // ENTRIES
    pool = [values.view(count, PAGE, COLUMNS) for values in tables()]
    table = [torch.randint(0, count, (sequences, ENTRIES), device=DEVICE) for _ in range(SETS)]
    narrow = [entries.to(torch.int32) for entries in table]
    out = [torch.empty_like(values) for values in pool]
    step = PAGE * ENTRIES
    offsets = torch.arange(0, ROWS + 1, step, device=DEVICE, dtype=torch.int32)
    moved = ROWS * COLUMNS * 8 + count * 4

    def by_torch(i: int) -> object:
        return torch.index_select(pool[i], 0, table[i].view(-1), out=out[i])

    time = measure(rotated(SETS, by_torch), 20)
    report.add("torch", "paged_gather", time, moved=moved + count * 4, way="index_select", **case())

    for warps in WARPS:

        def by_triton(i: int, warps: int = warps) -> None:
            grid = (sequences, ENTRIES)
            paged_rows[grid](
                pool[i], narrow[i], offsets, out[i], ENTRIES, COLUMNS, PAGE, num_warps=warps
            )

        for values in out:
            values.fill_(float("nan"))
        time = measure(rotated(SETS, by_triton), 20)
        for i in range(SETS):
            if not torch.equal(out[i], pool[i][table[i].view(-1)]):
                raise AssertionError("triton gathered wrong pages")
        report.add("triton", "paged_gather", time, moved=moved, warps=warps, **case())


def one_hot(report: Report) -> None:
    """A gather as cuBLAS can do it: the one-hot matrix of the indices times the table. Making the matrix is not timed."""
    rows = ONE_HOT_ROWS
    for dtype in (torch.float32, torch.bfloat16):
        table = [torch.randn(rows, COLUMNS, device=DEVICE).to(dtype) for _ in range(SETS)]
        index = [uniform(rows, rows) for _ in range(SETS)]
        matrix = [torch.zeros(rows, rows, device=DEVICE, dtype=dtype) for _ in range(SETS)]
        for values, places in zip(matrix, index):
            values.scatter_(1, places.view(-1, 1), 1.0)
        out = [torch.empty_like(values) for values in table]

        def product(i: int, matrix: list = matrix, table: list = table, out: list = out) -> object:
            return torch.matmul(matrix[i], table[i], out=out[i])

        time = measure(rotated(SETS, product))
        for i in range(SETS):
            if not torch.equal(out[i], table[i][index[i]]):
                raise AssertionError(f"the product with a one-hot matrix of {dtype} is no gather")
        report.add(
            "cublas",
            "gather",
            time,
            moved=rows * (2 * COLUMNS * dtype.itemsize + 4),
            way="one-hot matmul",
            dtype=dtype_name(dtype),
            rows=rows,
            columns=COLUMNS,
            data="uniform",
        )


def fused(report: Report) -> None:
    """Gathered rows times a matrix in two calls: what a fused form saves a pass of."""
    rows, extent, columns = FUSED
    dtype = torch.bfloat16
    table = [torch.randn(extent, columns, device=DEVICE).to(dtype) for _ in range(SETS)]
    index = [uniform(extent, rows) for _ in range(SETS)]
    weight = torch.randn(columns, columns, device=DEVICE).to(dtype)
    out = [torch.empty(rows, columns, device=DEVICE, dtype=dtype) for _ in range(SETS)]

    def rows_times_weight(i: int) -> object:
        return torch.matmul(torch.index_select(table[i], 0, index[i]), weight, out=out[i])

    time = measure(rotated(SETS, rows_times_weight))
    report.add(
        "cublas",
        "gather_matmul",
        time,
        flops=2 * rows * columns * columns,
        way="index_select, matmul",
        dtype=dtype_name(dtype),
        rows=rows,
        columns=columns,
        data=f"of {extent} rows",
    )
