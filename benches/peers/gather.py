"""out[n, :] = table[index[n], :], and the copy that bounds it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from data import COLUMNS, ROWS, SETS, dtype_name, uniform
from timing import DEVICE, Report, measure, rotated

ROW_BYTES = (64, 128, 256, 512, 1024, 2048, 4096)
ROWS_PER_PROGRAM = (8, 16, 32, 64)
WARPS = (4, 8)
LARGEST_TILE = 32 * 1024
"""Elements that a Triton program holds at most."""


@triton.jit
def gather_rows(table, index, out, columns: tl.constexpr, rows: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * rows
    row = first + tl.arange(0, rows)
    source = tl.load(index + row).to(tl.int64)
    column = tl.arange(0, columns)
    values = tl.load(table + source[:, None] * columns + column[None, :])
    tl.store(out + row[:, None] * columns + column[None, :], values)


def run(report: Report) -> None:
    copy(report)
    torch.cuda.empty_cache()
    for dtype in (torch.float32, torch.bfloat16):
        for row_bytes in ROW_BYTES:
            columns = row_bytes // dtype.itemsize
            with_torch(report, dtype, columns)
            with_triton(report, dtype, columns)
            torch.cuda.empty_cache()


def copy(report: Report) -> None:
    """The ceiling: 1 GiB of f32, read and written."""
    count = 1 << 28
    source = [torch.randn(count, device=DEVICE) for _ in range(SETS)]
    target = [torch.empty_like(values) for values in source]
    time = measure(rotated(SETS, lambda i: target[i].copy_(source[i])))
    case = {"dtype": "f32", "rows": count // COLUMNS, "columns": COLUMNS, "data": "in order"}
    report.add("torch", "copy", time, moved=2 * 4 * count, index="none", **case)


def with_torch(report: Report, dtype: torch.dtype, columns: int) -> None:
    """Every way at one width, the one without an allocation at the others."""
    table, index, out = buffers(dtype, columns)
    moved = moved_bytes(dtype, columns, index[0])
    case = uniform_case(dtype, columns, "i64")
    ways = {
        "index_select out": lambda i: torch.index_select(table[i], 0, index[i], out=out[i]),
        "index_select": lambda i: torch.index_select(table[i], 0, index[i]),
        "embedding": lambda i: torch.nn.functional.embedding(index[i], table[i]),
        "indexing": lambda i: table[i][index[i]],
    }
    for way, launch in list(ways.items())[: None if columns == COLUMNS else 1]:
        time = measure(rotated(SETS, launch))
        report.add("torch", "gather", time, moved=moved, way=way, **case)


def with_triton(report: Report, dtype: torch.dtype, columns: int) -> None:
    """Every tile size and number of warps: the best of them is the figure to compare with."""
    table, index, out = buffers(dtype, columns)
    index = [values.int() for values in index]
    moved = moved_bytes(dtype, columns, index[0])
    case = uniform_case(dtype, columns, "i32")
    for rows in ROWS_PER_PROGRAM:
        if rows * columns > LARGEST_TILE:
            continue
        for warps in WARPS:
            grid = (ROWS // rows,)

            def launch(i: int, rows: int = rows, warps: int = warps, grid: tuple = grid) -> None:
                gather_rows[grid](table[i], index[i], out[i], columns, rows, num_warps=warps)

            for values in out:
                values.fill_(float("nan"))
            time = measure(rotated(SETS, launch))
            for i in range(SETS):
                if not torch.equal(out[i], table[i][index[i].long()]):
                    raise AssertionError(f"triton gathered wrong rows: {case}")
            report.add(
                "triton", "gather", time, moved=moved, rows_per_program=rows, warps=warps, **case
            )


def buffers(dtype: torch.dtype, columns: int) -> tuple[list, list, list]:
    """Tables, indices and outputs, one of each for a set."""
    table = [torch.randn(ROWS, columns, device=DEVICE).to(dtype) for _ in range(SETS)]
    index = [uniform(ROWS, ROWS) for _ in range(SETS)]
    out = [torch.empty(ROWS, columns, device=DEVICE, dtype=dtype) for _ in range(SETS)]
    return table, index, out


def uniform_case(dtype: torch.dtype, columns: int, index: str) -> dict[str, object]:
    return {
        "dtype": dtype_name(dtype),
        "rows": ROWS,
        "columns": columns,
        "data": "uniform",
        "index": index,
    }


def moved_bytes(dtype: torch.dtype, columns: int, index: torch.Tensor) -> int:
    """Each row read and written, each index read."""
    return ROWS * (2 * columns * dtype.itemsize + index.element_size())
