"""Measures girih's peers (torch, Triton, cuTile) on an NVIDIA GPU.

Every measurement is one line of JSON on standard output; what goes wrong is said on standard error, and the exit
status is then 1. Times are device events: the median of launches timed one by one, and the mean in a window of
launches enqueued back to back; buffers are rotated past the L2 cache. Compare a figure only with one of the same run
on the same machine: `compare.py` does.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys

SECTIONS = (
    "gather", "scatter", "cutile", "embedding", "scan", "segment", "experts", "matmul", "sort", "lookup",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"what to measure: {', '.join(SECTIONS)} (default: all)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random data (default: 0)")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.sections) - set(SECTIONS))
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")

    # Only now, so that --help and a mistake need no GPU.
    try:
        import torch
    except ImportError:
        print("peers: the package torch is not installed", file=sys.stderr)
        return 1

    from timing import Report

    if not torch.cuda.is_available():
        print("peers: torch finds no NVIDIA GPU", file=sys.stderr)
        return 1
    print(json.dumps(machine(torch)), flush=True)
    report = Report()
    for section in arguments.sections or SECTIONS:
        torch.manual_seed(arguments.seed)
        report.attempt(
            section, lambda section=section: importlib.import_module(section).run(report)
        )
        torch.cuda.empty_cache()
    return 1 if report.failed else 0


def machine(torch) -> dict[str, str]:
    """What the figures were measured with."""
    return {
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


if __name__ == "__main__":
    sys.exit(main())
