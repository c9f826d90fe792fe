"""Sums over segments of rows, by torch."""

from __future__ import annotations

import torch

from data import COLUMNS, ROWS
from timing import DEVICE, Report, measure


def run(report: Report, segments: int = 1 << 16) -> None:
    values = torch.randn(ROWS, COLUMNS, device=DEVICE)
    lengths = torch.full((segments,), ROWS // segments, device=DEVICE)
    time = measure([lambda: torch.segment_reduce(values, "sum", lengths=lengths, axis=0)], 6)
    moved = (ROWS + segments) * COLUMNS * 4
    report.add(
        "torch", "segment sum", time, moved=moved, rows=ROWS, columns=COLUMNS, segments=segments
    )
