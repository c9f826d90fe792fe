"""Reductions of segments of rows, by torch."""

from __future__ import annotations

import torch

from data import COLUMNS, ROWS
from timing import DEVICE, Report, measure


def run(report: Report, segments: int = 1 << 16) -> None:
    values = torch.randn(ROWS, COLUMNS, device=DEVICE)
    lengths = torch.full((segments,), ROWS // segments, device=DEVICE)
    moved = (ROWS + segments) * COLUMNS * 4
    case = {"dtype": "f32", "rows": ROWS, "columns": COLUMNS, "data": f"{segments} segments"}
    for op in ("sum", "max"):
        time = measure([lambda op=op: torch.segment_reduce(values, op, lengths=lengths, axis=0)], 6)
        report.add("torch", f"segment {op}", time, moved=moved, **case)
    long(report, values)


def long(report: Report, values: torch.Tensor, segments: int = 4) -> None:
    """A few long ones, as a dense sum: `segment_reduce` has one thread for all rows of an element."""
    by_segment = values.view(segments, ROWS // segments, COLUMNS)
    moved = (ROWS + segments) * COLUMNS * 4
    case = {"dtype": "f32", "rows": ROWS, "columns": COLUMNS, "data": f"{segments} segments"}
    time = measure([lambda: by_segment.sum(1)], 6)
    report.add("torch", "segment sum", time, moved=moved, **case)
