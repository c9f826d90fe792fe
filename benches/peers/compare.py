"""Sets girih's measurements beside its peers', workload by workload, as a table in Markdown.

Reads files of JSON lines, girih's (`girih-suite bench --json`) and the peers' (`python3 peers`, and `cub` and `cub_device` made of
`cub.cu` and `cub_device.cu`), in any order; other lines, such as a log's, are passed over. A folder stands for its `*.jsonl` and
`*.log` files, and for those of its folders `run-*`. A ratio above 1 says that girih is that many times as fast. Where both
sides give a checksum of what they computed, one that differs is said on standard error, and so is an error against `f64` of
girih's that is more than 1.1 times a peer's; the exit status is then 1.

The files of one folder are one run. Of several runs, of one machine, each figure is the median over the runs, with its spread
behind it: half of how far the largest lies above the smallest, in percent of the median. A ratio is taken within each run; its median
stands with the smallest and the largest.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

GIRIH = "girih"
PEERS = ("triton", "torch", "cutile", "cub", "cublas", "burn")
TIMES = ("median_us", "window_us")
WORKLOAD = ("op", "dtype", "rows", "columns", "data", "group", "units", "cube", "cubes", "rounds")

MOST_ERROR = 1.1
"""How many times a peer's error girih's may be."""

Line = dict[str, object]
Key = tuple[object, ...]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="compare.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file of JSON lines, or a folder of them")
    arguments = parser.parse_args()
    try:
        runs = read(Path(path) for path in arguments.paths)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    if not runs:
        print("no line is a measurement", file=sys.stderr)
        return 1
    makers = (
        (table, lambda line: not is_collective(line)),
        (table_of_collectives, is_collective),
        (table_of_errors, has_error),
    )
    tables = []
    for make, is_wanted in makers:
        of = [[line for line in lines if is_wanted(line)] for lines in runs]
        of = [lines for lines in of if lines]
        if of:
            tables.append("\n".join(make(of)))
    print("\n\n".join(tables))
    wrong = [sentence for lines in runs for sentence in (*unlike(lines), *inexact(lines))]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def read(paths: Iterable[Path]) -> list[list[Line]]:
    """The measurements of each run that has some: of the files of each folder, in the order of the first."""
    runs: dict[Path, list[Line]] = {}
    for path in (file for path in paths for file in files(path)):
        with open(path, encoding="utf-8", errors="replace") as text:
            runs.setdefault(path.resolve().parent, []).extend(measurements(text))
    return [lines for lines in runs.values() if lines]


def files(path: Path) -> list[Path]:
    """The file, or those of a folder and of the runs in it."""
    if not path.is_dir():
        return [path]
    folders = [path, *(folder for folder in path.glob("run-*") if folder.is_dir())]
    kinds = ("*.jsonl", "*.log")
    return sorted(file for folder in folders for kind in kinds for file in folder.glob(kind))


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


def has_error(line: Line) -> bool:
    """Whether the line says how far its result is from `f64`."""
    value = line.get("relative_error")
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def errors(lines: list[Line]) -> Iterator[tuple[Line, Line]]:
    """Each of girih's lines with an error against `f64`, and of every peer's for the same workload the most exact one."""
    lines = [line for line in lines if has_error(line)]
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


def table_of_errors(runs: list[list[Line]]) -> Iterator[str]:
    """The errors of products against `f64`."""
    yield "Errors of some elements against f64, all together, relative to what is right.\n"
    yield row(["product", "girih", "peer", "its error", "girih / peer"])
    yield row(["---", "---:", "---", "---:", "---:"])
    for ours, theirs in (pair for lines in runs for pair in errors(lines)):
        error, other = float(ours["relative_error"]), float(theirs["relative_error"])
        ratio = f"{error / other:.2f}" if other else "-"
        yield row([str(ours["name"]), f"{error:.2e}", str(theirs["peer"]), f"{other:.2e}", ratio])


def table_of_collectives(runs: list[list[Line]]) -> Iterator[str]:
    """Each of girih's collectives beside every way that CUB has of it, the best way first."""
    yield "Each cell: how long all cubes take for one round, in nanoseconds, by the window of launches.\n"
    yield row(["collective", "girih ns", "cub ns, best way", "cub / girih", "cub's other ways"])
    yield row(["---", "---:", "---:", "---:", "---"])
    for line in ours(runs):
        times = [float(own["ns_per_round"]) for own, _ in of_each_run(runs, line)]
        theirs: dict[str, list[float]] = {}
        for lines in runs:
            for their in lines:
                if their["peer"] != GIRIH and workload(their) == workload(line):
                    theirs.setdefault(str(their["way"]), []).append(float(their["ns_per_round"]))
        ways = sorted((median(of_way), way) for way, of_way in theirs.items())
        ratio = f"{ways[0][0] / median(times):.2f}" if ways else "-"
        named = [f"{time:.1f} {way}" for time, way in ways]
        cells = [str(line["name"]), f"{median(times):.1f}{spread([times])}"]
        yield row([*cells, named[0] if named else "-", ratio, "; ".join(named[1:]) or "-"])


def table(runs: list[list[Line]]) -> Iterator[str]:
    """Each of girih's workloads with the best that every peer has of it, by each of the two times."""
    best = [best_of(lines) for lines in runs]
    peers = [peer for peer in PEERS if any(line["peer"] == peer for lines in runs for line in lines)]
    heads = ["workload", "girih us", "rate"]
    for peer in peers:
        heads += [f"{peer} us", f"{peer} / girih"]
    yield "Each cell: median of single launches / mean in a window of launches back to back."
    if len(runs) > 1:
        yield f"Medians over {len(runs)} runs, with their spread; ratios within a run, with the smallest and the largest."
    yield "Rates are 10^9 bytes a second, or 10^12 floating point operations where a line counts those.\n"
    yield row(heads)
    yield row(["---"] + ["---:"] * (len(heads) - 1))
    for line in ours(runs):
        own = of_each_run(runs, line)
        times = [[float(of_run[time]) for of_run, _ in own] for time in TIMES]
        cells = [str(line["name"]), figure(times), rate(line, [median(each) for each in times])]
        for peer in peers:
            pairs = [
                [
                    (their, float(of_run[time]))
                    for of_run, run in own
                    if (their := best[run].get((peer, time, workload(line)))) is not None
                ]
                for time in TIMES
            ]
            if not all(pairs):
                cells += ["-", "-"]
                continue
            theirs = [[their for their, _ in each] for each in pairs]
            ratios = [[their / our for their, our in each] for each in pairs]
            cells += [figure(theirs), pair([median(each) for each in ratios], 2) + reach(ratios)]
        yield row(cells)


def ours(runs: list[list[Line]]) -> Iterator[Line]:
    """girih's lines of the first run, and of each later one those that no earlier has."""
    seen: set[Key] = set()
    for lines in runs:
        of_run = [line for line in lines if line["peer"] == GIRIH and identity(line) not in seen]
        seen.update(map(identity, of_run))
        yield from of_run


def identity(line: Line) -> Key:
    return (line.get("name"), *workload(line))


def of_each_run(runs: list[list[Line]], line: Line) -> list[tuple[Line, int]]:
    """The line itself where there is one run; else girih's line of the same name in every run that has it, and which run it is."""
    if len(runs) == 1:
        return [(line, 0)]
    found = []
    for run, lines in enumerate(runs):
        same = [own for own in lines if own["peer"] == GIRIH and identity(own) == identity(line)]
        found += [(own, run) for own in same[:1]]
    return found


def best_of(lines: list[Line]) -> dict[tuple[str, str, Key], float]:
    """The least that each peer takes of each workload in one run, whichever way it does it."""
    best: dict[tuple[str, str, Key], float] = {}
    for line in lines:
        for time in TIMES:
            place = (str(line["peer"]), time, workload(line))
            best[place] = min(best.get(place, float("inf")), float(line[time]))
    return best


def figure(times: list[list[float]]) -> str:
    """Each time's median over the runs, and the spread."""
    return pair([median(each) for each in times], 1) + spread(times)


def spread(times: list[list[float]]) -> str:
    """Half of how far the largest lies above the smallest, in percent of the median; nothing of a single run."""
    if max(map(len, times)) < 2:
        return ""
    return f" (± {pair([(max(each) - min(each)) / median(each) * 50 for each in times], 1)} %)"


def reach(ratios: list[list[float]]) -> str:
    """The smallest and the largest; nothing of a single run."""
    if max(map(len, ratios)) < 2:
        return ""
    return f" ({' / '.join(f'{min(each):.2f} to {max(each):.2f}' for each in ratios)})"


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
