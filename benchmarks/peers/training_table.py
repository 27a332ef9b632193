#!/usr/bin/env python3
"""Prints our training steps beside PyTorch's.

    training_table.py FOLDER [--json FILE]

FOLDER has the file `ways`, a line SIDE-DTYPE-CORES-HOW for each, and for each round a folder `round-N` with WAY.json:
what `shardline train --json` or training_torch.py wrote. A way without records is n/a. Exit code 1 if a loss in f32 is
not PyTorch's.
"""

import argparse
import math
import os
import statistics
import sys

from table import load, print_columns, write_record
from training_machine import processor

LOSS_LIMIT = 1e-4  # relative, in f32
BUSY = 0.05  # from this share of the cores' time on, other work counts as keeping the machine busy
SIDES = {"torch": "PyTorch", "ours": "ours"}
REFERENCE = "torch-f32-1-process"


class Way:
    """One way to train, with its record of every round."""

    def __init__(self, name, records):
        self.name, self.records = name, records
        self.side, self.dtype, cores, self.how = name.split("-")
        self.cores = int(cores)
        self.rates = [tokens_per_second(record) for record in records]
        self.median = statistics.median(self.rates) if self.rates else None

    def spread(self):
        """(highest - lowest) / median of the rounds."""
        return (max(self.rates) - min(self.rates)) / self.median

    def busy(self):
        """The largest share of its cores that other work took in a round; None if no round knows."""
        return max((r["busy_with_others"] for r in self.records if r.get("busy_with_others") is not None), default=None)


def timed_steps(record):
    """Without the first two, whose caches are cold and whose memory is new. All, if there are only four."""
    steps = record["steps"]
    return steps[2 if len(steps) > 4 else 0:]


def tokens_per_second(record):
    return statistics.median(step["tokens_per_s"] for step in timed_steps(record))


def read_ways(folder):
    rounds = sorted((name for name in os.listdir(folder) if name.startswith("round-")), key=lambda n: int(n[6:]))
    with open(f"{folder}/ways", encoding="utf-8") as file:
        names = file.read().split()
    ways = []
    for name in names:
        records = []
        for each in rounds:
            path = f"{folder}/{each}/{name}.json"
            if os.path.exists(path):
                records.append(load(path))
        ways.append(Way(name, records))
    return ways


def best(ways, side, cores, dtypes):
    """The way with the highest median; None if none ran."""
    ran = [w for w in ways if w.side == side and w.cores == cores and w.dtype in dtypes and w.rates]
    return max(ran, key=lambda w: w.median, default=None)


def ratios(way, peer):
    """Of the medians, and the median of the ratios of each round."""
    return way.median / peer.median, statistics.median(a / b for a, b in zip(way.rates, peer.rates))


def loss_difference(way, reference):
    """The largest relative difference of a step's loss, over all rounds; infinite if a loss is NaN."""
    expected = [step["loss"] for step in reference.records[0]["steps"]]
    differences = [abs(step["loss"] - loss) / abs(loss)
                   for record in way.records for step, loss in zip(record["steps"], expected, strict=True)]
    return max(math.inf if math.isnan(each) else each for each in differences)


def text(value, form):
    return "n/a" if value is None else format(value, form)


def cores_text(count):
    return "1 core" if count == 1 else f"{count} cores"


def print_table(ways):
    lines = [["way", "tokens/s", "spread", "x PyTorch", "paired", "busy", "loss diff"]]
    reference = next(w for w in ways if w.name == REFERENCE)
    for way in ways:
        title = f"{SIDES[way.side]} {way.dtype}, {cores_text(way.cores)}, {way.how}"
        if not way.rates:
            lines.append([title] + ["n/a"] * 6)
            continue
        pair = ratios(way, best(ways, "torch", way.cores, (way.dtype,)))
        lines.append([title, f"{way.median:.0f}", f"{way.spread():.0%}", *(f"{r:.2f}" for r in pair),
                      text(way.busy(), ".0%"), f"{loss_difference(way, reference):.1e}"])
    print_columns(lines)


def summary(ways):
    """Our best against PyTorch's best: for each number of cores in each element type, and in any."""
    rows = []
    for cores in sorted({w.cores for w in ways}):
        for title, dtypes in (("f32", ("f32",)), ("bf16", ("bf16",)), ("either", ("f32", "bf16"))):
            ours, peer = (best(ways, side, cores, dtypes) for side in ("ours", "torch"))
            both = ratios(ours, peer) if ours and peer else (None, None)
            rows.append({"cores": cores, "dtype": title, "ours": ours and ours.name, "torch": peer and peer.name,
                         "ratio": both[0], "paired": both[1]})
    return rows


def print_summary(rows):
    lines = [["our best / PyTorch's best", "x PyTorch", "paired", "ours", "PyTorch's"]]
    for row in rows:
        lines.append([f"{cores_text(row['cores'])}, {row['dtype']}", text(row["ratio"], ".2f"),
                      text(row["paired"], ".2f"), row["ours"] or "n/a", row["torch"] or "n/a"])
    print_columns(lines)


def versions(ways):
    torch = next(w.records[0] for w in ways if w.side == "torch" and w.rates)
    ours = next((w.records[0] for w in ways if w.side == "ours" and w.rates), {"machine": {}})
    return {"torch": torch["versions"], "ours": ours["machine"]}


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    ways = read_ways(arguments.folder)
    machine, used = processor(), versions(ways)
    steps = len(ways[0].records[0]["steps"])
    has = ", ".join(f"{name}: {'yes' if there else 'no'}" for name, there in machine["instructions"].items())
    print(f"{machine['name']}; {has}")
    print("PyTorch {torch}, {vectors}, {blas}, oneDNN {onednn}".format(**used["torch"]))
    print(f"ours: {used['ours'].get('blas', 'unknown')}")
    print(f"{len(ways[0].records)} x {steps} steps; medians; spread is (highest - lowest) / median\n")
    print_table(ways)
    busiest = max((w.busy() for w in ways if w.busy() is not None), default=0)
    if busiest >= BUSY:
        print(f"\ntimings are not valid: other work took {busiest:.0%} of the cores' time from a way")
    rows = summary(ways)
    print()
    print_summary(rows)
    reference = next(w for w in ways if w.name == REFERENCE)
    wrong = [w.name for w in ways
             if w.dtype == "f32" and w.rates and loss_difference(w, reference) > LOSS_LIMIT]
    if arguments.json:
        write_record(arguments.json, {
            "schema": "shardline.peers_training/1", "command": "training", "processor": machine, "versions": used,
            "parameters": ways[0].records[0]["parameters"], "summary": rows,
            "losses_agree": not wrong, "valid_timing": busiest < BUSY,
            "ways": [{"name": w.name, "side": w.side, "dtype": w.dtype, "cores": w.cores, "how": w.how,
                      "tokens_per_s": w.median, "busy_with_others": w.busy(), "rounds": w.records} for w in ways]})
    for name in wrong:
        print(f"{name}: a loss differs from PyTorch's by more than {LOSS_LIMIT:g} of it", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
