#!/usr/bin/env python3
"""Measured beside predicted for every record of a folder: one line per row of a `shardline bench` record, one per product
(the whole of it, as scheduled), one per training run (its median step), and two per generation (prefill, and the median
step of decode). Records that differ in the end of their names alone, ".round1" and so on, share their lines: medians of
what was measured, of what was predicted, and of the ratios."""

import json
import pathlib
import re
import statistics
import sys


def rows_of(name, record):
    command = record["command"]
    if command == "bench":
        for row in record["rows"]:
            if row["predicted_s"] is not None:
                yield f"{row['collective']} {row['bytes']:.0f} B", row["time_s"]["median"], row["predicted_s"]
    elif command == "matmul":
        yield name, record["measured_s"]["median"], record["predicted_s"]["scheduled"]
    elif command == "train":
        steps = record["steps"]
        warm = steps[2:] if len(steps) > 4 else steps
        yield name, statistics.median(s["step_s"] for s in warm), steps[0]["predicted_step_s"]
    elif command == "generate":
        for phase in ("prefill", "decode"):
            yield f"{name} {phase}", record[phase]["time_s"]["median"], record[phase]["predicted_s"]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: table.py FOLDER")
    rounds = {}
    machine = None
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "command" in record:
            machine = record["machine"]
            for name, measured, predicted in rows_of(re.sub(r"\.round\d+$", "", path.stem), record):
                rounds.setdefault(name, []).append((measured, predicted, measured / predicted))
    rows = [(name, *(statistics.median(each[i] for each in of_name) for i in range(3))) for name, of_name in rounds.items()]
    if not rows:
        sys.exit("prediction: no records in " + sys.argv[1])
    print(f"{machine['host']}, {machine['cores']} cores, {machine['ranks_per_node']} ranks a node, {machine['blas']}")
    print(f"{'configuration':<40}{'measured':>12}{'predicted':>12}{'ratio':>8}")
    for name, measured, predicted, ratio in rows:
        print(f"{name:<40}{measured * 1e3:>9.3f} ms{predicted * 1e3:>9.3f} ms{ratio:>8.3f}")
    off = [abs(ratio - 1) for *_, ratio in rows]
    print(f"{len(rows)} configurations: |measured / predicted - 1| is {statistics.median(off):.3f} in the median, "
          f"{max(off):.3f} at most")


if __name__ == "__main__":
    main()
