"""Times work on the GPU, and reports each measurement as one line of JSON."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import torch

DEVICE = "cuda"

Launch = Callable[[], object]


@dataclass(frozen=True)
class Time:
    """Times of one launch, in microseconds."""

    median_us: float
    """Median over launches timed one by one."""
    window_us: float
    """Mean over launches enqueued back to back between two events; the median of several such windows."""
    enqueue_us: float
    """What the host spends on enqueuing one launch; the median of the same windows."""


def rotated(count: int, launch: Callable[[int], object]) -> list[Launch]:
    """`launch` on each of `count` sets of buffers: rotated, they go past the L2 cache."""
    return [lambda i=i: launch(i) for i in range(count)]


def measure(
    launches: Sequence[Launch], count: int = 30, warmup: int = 6, windows: int = 3
) -> Time:
    """Times `count` launches one by one and in each window, taking `launches` in turn."""
    enqueued = []

    def turn(i: int) -> None:
        launches[i % len(launches)]()

    def between_events(work: Launch) -> float:
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e3

    def all_turns() -> None:
        start = perf_counter()
        for i in range(count):
            turn(i)
        enqueued.append((perf_counter() - start) * 1e6 / count)

    for i in range(warmup):
        turn(i)
    torch.cuda.synchronize()
    singles = [between_events(lambda i=i: turn(i)) for i in range(count)]
    means = [between_events(all_turns) / count for _ in range(windows)]
    return Time(*map(statistics.median, (singles, means, enqueued)))


class Report:
    """Prints measurements as JSON on standard output, and remembers whether one failed."""

    def __init__(self) -> None:
        self.failed = 0

    def add(
        self,
        peer: str,
        op: str,
        time: Time,
        *,
        moved: int | None = None,
        items: int | None = None,
        flops: int | None = None,
        relative_error: float | None = None,
        **case: object,
    ) -> None:
        """One measurement of `op` by `peer`.

        `moved` is in bytes read and written, indices included; `relative_error` is against `f64`, as `relative_error()` gives it;
        `case` names the sizes and the data.
        """
        line = {"peer": peer, "op": op, **case}
        line["median_us"] = round(time.median_us, 2)
        line["window_us"] = round(time.window_us, 2)
        line["enqueue_us"] = round(time.enqueue_us, 2)
        if moved is not None:
            line["bytes"] = moved
            line["median_gb_per_s"] = round(moved / time.median_us / 1e3, 1)
            line["window_gb_per_s"] = round(moved / time.window_us / 1e3, 1)
        if items is not None:
            line["items_per_ns"] = round(items / time.window_us / 1e3, 3)
        if flops is not None:
            line["tflop_per_s"] = round(flops / time.window_us / 1e6, 1)
        if relative_error is not None:
            line["relative_error"] = relative_error
        print(json.dumps(line), flush=True)

    def attempt(self, name: str, work: Launch) -> None:
        """Runs `work`; where it raises, says so and goes on."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 (whatever a peer raises, the others are still measured)
            self.failed += 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            torch.cuda.synchronize()
