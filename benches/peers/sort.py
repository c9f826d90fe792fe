"""Sorts, counts of values, the largest values and values each once, by torch; the same keys' number as girih's (`benches/src/sorting.rs`)."""

from __future__ import annotations

import torch

from data import SETS
from timing import DEVICE, Report, measure, rotated

LENGTHS = (1 << 20, 1 << 24, 1 << 28)
BINS = 256
LARGEST = 64
DISTINCT = 1 << 16


def run(report: Report) -> None:
    for length in LENGTHS:
        of_length(report, length)
        torch.cuda.empty_cache()


def of_length(report: Report, length: int) -> None:
    """torch sorts no u32: i32 takes as many digits."""
    keys = [
        torch.randint(-(2**31), 2**31, (length,), device=DEVICE, dtype=torch.int32)
        for _ in range(SETS)
    ]
    values = [values & (BINS - 1) for values in keys]
    few = [values & (DISTINCT - 1) for values in keys]
    # torch.sort gives the places too, in 64 bits; there is no way to have the keys alone, nor 32 bits with each.
    ways = {
        "sort_keys": (8, "sort", lambda i: keys[i].sort()),
        "sort_pairs": (16, "sort", lambda i: keys[i].sort()),
        "argsort": (8, "argsort", lambda i: keys[i].argsort()),
        "bincount": (4, "bincount", lambda i: torch.bincount(values[i], minlength=BINS)),
        "top_k": (4, "topk", lambda i: keys[i].topk(LARGEST)),
        # torch waits for the number of values to make room for them; girih leaves it on the device.
        "unique": (4, "unique", lambda i: torch.unique(few[i])),
        "unique_all": (
            8,
            "unique with inverse and counts",
            lambda i: torch.unique(few[i], return_inverse=True, return_counts=True),
        ),
    }
    for op, (size, way, launch) in ways.items():
        time = measure(rotated(SETS, launch), 20)
        report.add(
            "torch",
            op,
            time,
            moved=size * length,
            items=length,
            dtype="u32",
            rows=length,
            columns=1,
            data="uniform",
            way=f"{way} of i32",
        )
    stable = measure(rotated(SETS, lambda i: keys[i].sort(stable=True)), 20)
    case = {"dtype": "u32", "rows": length, "columns": 1, "data": "uniform"}
    way = "stable sort of i32"
    report.add("torch", "sort_pairs", stable, moved=16 * length, items=length, way=way, **case)
