"""Sets girih's measurements beside its peers', workload by workload, as a table in Markdown.

Reads files of JSON lines, girih's (`girih-suite bench --json`) and the peers' (`python3 peers`, and `cub` and `cub_device` made of
`cub.cu` and `cub_device.cu`), in any order; other lines, such as a log's, are passed over. A ratio above 1 says that girih is that many times as fast. Where both
sides give a checksum of what they computed, one that differs is said on standard error, and so is an error against `f64` of
girih's that is more than 1.1 times a peer's; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator

GIRIH = "girih"
PEERS = ("triton", "torch", "cutile", "cub", "cublas", "burn")
TIMES = ("median_us", "window_us")
WORKLOAD = ("op", "dtype", "rows", "columns", "data", "group", "units", "cube", "cubes", "rounds")

MOST_ERROR = 1.1
"""How many times a peer's error girih's may be."""

Line = dict[str, object]
Key = tuple[object, ...]


def main() -> int:
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="JSON lines")
    arguments = parser.parse_args()
    lines = []
    for path in arguments.files:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines.extend(measurements(file))
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)
            return 1
    collectives = [line for line in lines if is_collective(line)]
    others = [line for line in lines if not is_collective(line)]
    exact = [line for line in others if is_error(line.get("relative_error"))]
    makers = ((table, others), (table_of_collectives, collectives), (table_of_errors, exact))
    tables = [make(of) for make, of in makers if of]
    print("\n\n".join("\n".join(lines) for lines in tables))
    wrong = [*unlike(lines), *inexact(exact)]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def measurements(text: Iterable[str]) -> Iterator[Line]:
    """The lines that are measurements."""
    for line in text:
        if not line.startswith("{"):
            continue
        try:
            parsed = json.loads(line)
        except json.JSONDecodeError:
            continue
        if all(isinstance(parsed.get(field), (int, float)) for field in TIMES) and "peer" in parsed:
            yield parsed


def workload(line: Line) -> Key:
    """What two measurements share that may be set beside each other."""
    return tuple(line.get(field) for field in WORKLOAD)


def is_collective(line: Line) -> bool:
    return "rounds" in line


def unlike(lines: list[Line]) -> Iterator[str]:
    """A sentence for each peer's line whose results are others than girih's of the same workload."""
    ours = {workload(line): line for line in lines if line["peer"] == GIRIH and "checksum" in line}
    for line in lines:
        our = ours.get(workload(line))
        if our and "checksum" in line and line["checksum"] != our["checksum"]:
            given, right = line["checksum"], our["checksum"]
            yield f"{our['name']}: {line['peer']} ({line.get('way')}) has checksum {given}, not {right}"


def is_error(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def errors(lines: list[Line]) -> Iterator[tuple[Line, Line]]:
    """Each of girih's lines with an error against `f64`, and of every peer's for the same workload the most exact one."""
    for ours in lines:
        theirs: dict[str, Line] = {}
        for line in lines:
            if line["peer"] != GIRIH and workload(line) == workload(ours):
                best = theirs.setdefault(str(line["peer"]), line)
                if float(line["relative_error"]) < float(best["relative_error"]):
                    theirs[str(line["peer"])] = line
        if ours["peer"] == GIRIH:
            yield from ((ours, line) for line in theirs.values())


def inexact(lines: list[Line]) -> Iterator[str]:
    """A sentence for each of girih's workloads whose error is not within a peer's."""
    for ours, theirs in errors(lines):
        error, most = float(ours["relative_error"]), float(theirs["relative_error"])
        # NaN is not within anything either.
        if not error <= MOST_ERROR * most:
            yield f"{ours['name']}: an error of {error:.2e}, and {theirs['peer']} has {most:.2e}"


def table_of_errors(lines: list[Line]) -> Iterator[str]:
    """The errors of products against `f64`."""
    yield "Errors of some elements against f64, all together, relative to what is right.\n"
    yield row(["product", "girih", "peer", "its error", "girih / peer"])
    yield row(["---", "---:", "---", "---:", "---:"])
    for ours, theirs in errors(lines):
        error, other = float(ours["relative_error"]), float(theirs["relative_error"])
        ratio = f"{error / other:.2f}" if other else "-"
        yield row([str(ours["name"]), f"{error:.2e}", str(theirs["peer"]), f"{other:.2e}", ratio])


def table_of_collectives(lines: list[Line]) -> Iterator[str]:
    """Each of girih's collectives beside every way that CUB has of it, the best way first."""
    yield "Each cell: how long all cubes take for one round, in nanoseconds, by the window of launches.\n"
    yield row(["collective", "girih ns", "cub ns, best way", "cub / girih", "cub's other ways"])
    yield row(["---", "---:", "---:", "---:", "---"])
    for line in lines:
        if line["peer"] != GIRIH:
            continue
        ours = float(line["ns_per_round"])
        theirs = [
            (float(their["ns_per_round"]), str(their["way"]))
            for their in lines
            if their["peer"] != GIRIH and workload(their) == workload(line)
        ]
        cells = [str(line["name"]), f"{ours:.1f}"]
        ways = [f"{time:.1f} {way}" for time, way in sorted(theirs)]
        ratio = f"{min(theirs)[0] / ours:.2f}" if theirs else "-"
        yield row([*cells, ways[0] if ways else "-", ratio, "; ".join(ways[1:]) or "-"])


def table(lines: list[Line]) -> Iterator[str]:
    """Each of girih's workloads with the best that every peer has of it, by each of the two times."""
    best: dict[tuple[str, str, Key], float] = {}
    for line in lines:
        for time in TIMES:
            place = (str(line["peer"]), time, workload(line))
            best[place] = min(best.get(place, float("inf")), float(line[time]))
    peers = [peer for peer in PEERS if any(line["peer"] == peer for line in lines)]
    heads = ["workload", "girih us", "rate"]
    for peer in peers:
        heads += [f"{peer} us", f"{peer} / girih"]
    yield "Each cell: median of single launches / mean in a window of launches back to back."
    yield "Rates are 10^9 bytes a second, or 10^12 floating point operations where a line counts those.\n"
    yield row(heads)
    yield row(["---"] + ["---:"] * (len(heads) - 1))
    for line in lines:
        if line["peer"] != GIRIH:
            continue
        ours = [float(line[time]) for time in TIMES]
        cells = [str(line["name"]), pair(ours, 1), rate(line, ours)]
        for peer in peers:
            theirs = [best.get((peer, time, workload(line))) for time in TIMES]
            if None in theirs:
                cells += ["-", "-"]
            else:
                ratios = [their / our for their, our in zip(theirs, ours)]
                cells += [pair(theirs, 1), pair(ratios, 2)]
        yield row(cells)


def rate(line: Line, times: list[float]) -> str:
    """What was done in that many microseconds, by what the line counts."""
    for counted, unit, per in (("flops", " TFLOP/s", 1e6), ("bytes", "", 1e3)):
        if isinstance(line.get(counted), (int, float)):
            return pair([float(line[counted]) / time / per for time in times], 0) + unit
    return "-"


def pair(values: list[float], digits: int) -> str:
    return " / ".join(f"{value:.{digits}f}" for value in values)


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
