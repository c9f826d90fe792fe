"""Gather and scatter by cuTile Python, NVIDIA's own tile language."""

from __future__ import annotations

import sys

import torch

from data import COLUMNS, ROWS, SETS, dtype_name, uniform
from timing import DEVICE, Report, measure, rotated


def run(report: Report) -> None:
    try:
        import cuda.tile as ct
    except ImportError:
        print("cutile: left out, the package cuda-tile is not installed", file=sys.stderr)
        return

    @ct.kernel
    def gather_rows(table, index, out, rows: ct.Constant[int], columns: ct.Constant[int]):
        block = ct.bid(0)
        source = ct.load(index, (block,), (rows,))
        tile = ct.load_advanced_indexing(table, (source, ct.Slice(0, columns)))
        ct.store(out, (block, 0), tile)

    @ct.kernel
    def add_rows(source, index, out, rows: ct.Constant[int], columns: ct.Constant[int]):
        block = ct.bid(0)
        target = ct.load(index, (block,), (rows,))
        column = ct.arange(columns, dtype=ct.int32)
        tile = ct.load(source, (block, 0), (rows, columns))
        ct.atomic_add(
            out, (target[:, None], column[None, :]), tile, memory_order=ct.MemoryOrder.RELAXED
        )

    for dtype in (torch.float32, torch.bfloat16):
        table = [torch.randn(ROWS, COLUMNS, device=DEVICE).to(dtype) for _ in range(SETS)]
        index = [uniform(ROWS, ROWS).int() for _ in range(SETS)]
        case = {
            "dtype": dtype_name(dtype),
            "rows": ROWS,
            "columns": COLUMNS,
            "data": "uniform",
            "index": "i32",
        }

        def launch(kernel, i: int, out: list, rows: int, table=table, index=index) -> None:
            stream = torch.cuda.current_stream()
            arguments = (table[i], index[i], out[i], rows, COLUMNS)
            ct.launch(stream, (ROWS // rows,), kernel, arguments)

        def gather(rows: int, dtype=dtype, table=table, index=index, case=case) -> None:
            out = [torch.empty(ROWS, COLUMNS, device=DEVICE, dtype=dtype) for _ in range(SETS)]
            time = measure(rotated(SETS, lambda i: launch(gather_rows, i, out, rows)))
            if not torch.equal(out[0], table[0][index[0].long()]):
                raise AssertionError("cutile gathered wrong rows")
            moved = ROWS * (2 * COLUMNS * dtype.itemsize + 4)
            report.add("cutile", "gather", time, moved=moved, rows_per_program=rows, **case)

        def add(rows: int, case=case) -> None:
            out = [torch.zeros(ROWS, COLUMNS, device=DEVICE) for _ in range(SETS)]
            time = measure(rotated(SETS, lambda i: launch(add_rows, i, out, rows)), 10)
            moved = ROWS * (3 * COLUMNS * 4 + 4)
            report.add("cutile", "scatter_add", time, moved=moved, rows_per_program=rows, **case)

        for rows in (4, 8, 16, 32, 64):
            report.attempt(f"cutile gather {case}, {rows} rows", lambda rows=rows: gather(rows))
        if dtype == torch.float32:
            for rows in (4, 8, 16):
                report.attempt(f"cutile scatter_add, {rows} rows", lambda rows=rows: add(rows))
