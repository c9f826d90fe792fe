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
    for section in (along_rows, along_columns, pages):
        section(report)
        torch.cuda.empty_cache()
    for dtype in (torch.float32, torch.bfloat16):
        one_hot(report, dtype)
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

    def by_triton(i: int) -> None:
        grid = (sequences, ENTRIES)
        paged_rows[grid](pool[i], narrow[i], offsets, out[i], ENTRIES, COLUMNS, PAGE)

    for values in out:
        values.fill_(float("nan"))
    time = measure(rotated(SETS, by_triton), 20)
    for i in range(SETS):
        if not torch.equal(out[i], pool[i][table[i].view(-1)]):
            raise AssertionError("triton gathered wrong pages")
    report.add("triton", "paged_gather", time, moved=moved, **case())


def one_hot(report: Report, dtype: torch.dtype) -> None:
    """A gather as cuBLAS can do it: the one-hot matrix of the indices times the table. Making the matrix is not timed."""
    rows = ONE_HOT_ROWS
    table = [torch.randn(rows, COLUMNS, device=DEVICE).to(dtype) for _ in range(SETS)]
    index = [uniform(rows, rows) for _ in range(SETS)]
    matrix = [torch.zeros(rows, rows, device=DEVICE, dtype=dtype) for _ in range(SETS)]
    for values, places in zip(matrix, index):
        values.scatter_(1, places.view(-1, 1), 1.0)
    out = [torch.empty_like(values) for values in table]
    of_rows = {
        "dtype": dtype_name(dtype),
        "rows": rows,
        "columns": COLUMNS,
        "data": "uniform",
    }
    moved = rows * (2 * COLUMNS * dtype.itemsize + 4)
    time = measure(rotated(SETS, lambda i: torch.matmul(matrix[i], table[i], out=out[i])))
    for i in range(SETS):
        if not torch.equal(out[i], table[i][index[i]]):
            raise AssertionError("the product with a one-hot matrix is no gather")
    report.add("cublas", "gather", time, moved=moved, way="one-hot matmul", **of_rows)
    # A product with the rows gathered, in two calls: what a fused form saves a pass of.
    weight = torch.randn(COLUMNS, COLUMNS, device=DEVICE).to(dtype)

    def rows_times_weight(i: int) -> object:
        return torch.matmul(torch.index_select(table[i], 0, index[i]), weight, out=out[i])

    time = measure(rotated(SETS, rows_times_weight))
    flops = 2 * rows * COLUMNS * COLUMNS
    report.add("cublas", "gather_matmul", time, flops=flops, way="index_select, matmul", **of_rows)
