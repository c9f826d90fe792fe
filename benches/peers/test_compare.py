"""What `compare.py` makes of measurements: `python3 -m unittest discover benches/peers`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

import compare

GATHER = {"op": "gather", "dtype": "f32", "rows": 8, "columns": 16, "data": "uniform"}


def line(peer: str, median: float, window: float, **more: object) -> str:
    return json.dumps({"peer": peer, **GATHER, "median_us": median, "window_us": window, **more})


def compared(runs: dict[str, list[str]], *paths: str) -> tuple[int, str, str]:
    """The exit status, the table and what is said of errors, of files with these lines; of their folder where no path is named."""
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in runs.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        sys.argv = ["compare.py", *(str(Path(folder, path)) for path in paths or ("",))]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = compare.main()
        return status, out.getvalue(), err.getvalue()


class Comparison(unittest.TestCase):
    def test_one_run_has_the_best_of_each_peer(self) -> None:
        ours = [line("girih", 4, 2, name="gather f32", bytes=8000)]
        theirs = ["a log", line("triton", 6, 5, warps=4), line("triton", 8, 3, warps=8)]
        status, table, _ = compared({"bench.jsonl": ours, "peers.log": theirs})
        self.assertEqual(status, 0)
        self.assertIn("| gather f32 | 4.0 / 2.0 | 2 / 4 | 6.0 / 3.0 | 1.50 / 1.50 |", table)
        self.assertNotIn("±", table)

    def test_runs_have_medians_spreads_and_ratios_of_their_own(self) -> None:
        runs = {}
        # girih's times and the peer's: the peer's medians over runs are 30 and 20, its ratios 3, 2 and 4.
        for run, (own, their) in enumerate([((10, 10), (30, 10)), ((11, 9), (22, 20)), ((9, 10), (36, 30))]):
            runs[f"run-{run}/bench.jsonl"] = [line("girih", *own, name="gather f32", bytes=10000)]
            runs[f"run-{run}/peers.log"] = [line("triton", *their), line("triton", 99, 99, warps=8)]
        status, table, _ = compared(runs)
        self.assertEqual(status, 0)
        self.assertIn("Medians over 3 runs", table)
        want = (
            "| gather f32 | 10.0 / 10.0 (± 10.0 / 5.0 %) | 1 / 1 | 30.0 / 20.0 (± 23.3 / 50.0 %)"
            " | 3.00 / 2.22 (2.00 to 4.00 / 1.00 to 3.00) |"
        )
        self.assertIn(want, table)
        # Files of one folder are one run, however they are named.
        self.assertEqual(compared(runs, *runs)[1], table)

    def test_a_run_without_a_peer_leaves_the_others(self) -> None:
        runs = {
            "run-1/bench.jsonl": [line("girih", 10, 10, name="gather f32")],
            "run-2/bench.jsonl": [line("girih", 20, 20, name="gather f32")],
            "run-2/peers.log": [line("torch", 30, 60)],
        }
        status, table, _ = compared(runs)
        self.assertEqual(status, 0)
        self.assertIn("| gather f32 | 15.0 / 15.0 (± 33.3 / 33.3 %) | - | 30.0 / 60.0 | 1.50 / 3.00 |", table)

    def test_collectives_have_the_best_way_by_its_median(self) -> None:
        def collective(peer: str, ns: float, **more: object) -> str:
            return line(peer, 1, 1, ns_per_round=ns, rounds=4, **more)

        runs = {}
        for run, (own, raking, plain) in enumerate([(10, 40, 20), (12, 10, 30), (14, 50, 24)]):
            runs[f"run-{run}/bench.jsonl"] = [
                collective("girih", own, name="scan"),
                collective("cub", raking, way="raking"),
                collective("cub", plain, way="plain"),
            ]
        status, table, _ = compared(runs)
        self.assertEqual(status, 0)
        self.assertIn("| scan | 12.0 (± 16.7 %) | 24.0 plain | 2.00 | 40.0 raking |", table)

    def test_other_checksums_fail(self) -> None:
        lines = [line("girih", 1, 1, name="gather f32", checksum=1), line("cub", 1, 1, checksum=2)]
        status, _, errors = compared({"bench.jsonl": lines})
        self.assertEqual(status, 1)
        self.assertIn("has checksum 2, not 1", errors)

    def test_nothing_measured_fails(self) -> None:
        status, _, errors = compared({"bench.log": ["nothing"]})
        self.assertEqual(status, 1)
        self.assertIn("no line is a measurement", errors)


if __name__ == "__main__":
    unittest.main()
