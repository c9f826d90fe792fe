"""Scans, sorts, compaction and counting over one axis, by torch."""

from __future__ import annotations

import torch

from data import SETS
from timing import DEVICE, Report, measure, rotated

LENGTHS = (1 << 20, 1 << 24, 1 << 28)
LONGEST_UNIQUE = 1 << 24
"""torch.unique takes too much memory beyond."""


def run(report: Report) -> None:
    for length in LENGTHS:
        of_length(report, length)
        torch.cuda.empty_cache()


def of_length(report: Report, length: int) -> None:
    floats = [torch.randn(length, device=DEVICE) for _ in range(SETS)]
    keys = [
        torch.randint(0, 2**31 - 1, (length,), device=DEVICE, dtype=torch.int32)
        for _ in range(SETS)
    ]
    sums(report, floats)
    compactions(report, floats)
    ops = {
        "sort i32": (4, lambda i: keys[i].sort()),
        "bincount, 256 bins": (4, lambda i: torch.bincount(keys[i] & 255, minlength=256)),
    }
    if length <= LONGEST_UNIQUE:
        ops["unique i32, 2^16 values"] = (4, lambda i: (keys[i] & 0xFFFF).unique())
    for op, (count, launch) in ops.items():
        time = measure(rotated(SETS, launch), count)
        report.add("torch", op, time, items=length, length=length)


def sums(report: Report, values: list[torch.Tensor]) -> None:
    """Inclusive sums, into memory that is there: girih's workload `scan`."""
    length = len(values[0])
    out = [torch.empty_like(each) for each in values]
    time = measure(rotated(SETS, lambda i: torch.cumsum(values[i], 0, out=out[i])))
    case = {"dtype": "f32", "rows": length, "columns": 1, "data": "in order"}
    report.add("torch", "scan", time, moved=2 * 4 * length, way="cumsum", **case)


def compactions(report: Report, values: list[torch.Tensor]) -> None:
    """Half of a list is kept: girih's workloads `nonzero` and `masked_select`. Torch waits for the count each time."""
    length = len(values[0])
    positive = [each > 0 for each in values]
    case = {"dtype": "f32", "rows": length, "columns": 1, "data": "in order"}
    time = measure(rotated(SETS, lambda i: positive[i].nonzero()), 10)
    report.add("torch", "nonzero", time, moved=5 * length, **case)
    time = measure(rotated(SETS, lambda i: values[i].masked_select(positive[i])), 10)
    report.add("torch", "masked_select", time, moved=7 * length, **case)
