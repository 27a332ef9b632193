#!/usr/bin/env python3
"""Prints our generation beside llama.cpp's.

    generation_table.py FOLDER [--json FILE]

FOLDER has the file `ways`, a line MODEL-BATCH-DTYPE-SIDE for each, and for each round a folder `round-N` with WAY.json: what
`shardline generate --json` or generation_llama.mjs wrote. The folder `scores` has MODEL-DTYPE-ours.json and -llama.json with log
probabilities of the same ids. Exit code 1 if one in f32 differs.
"""

import argparse
import math
import os
import statistics
import sys

from table import load, print_columns, write_record
from training_machine import processor

LIMIT = 1e-3  # of a difference of log probabilities in f32
BUSY = 0.05  # from this share of the cores' time on, other work counts as keeping the machine busy
SIDES = {"llama": "llama.cpp", "ours": "ours"}
PHASES = ("prefill", "decode")


class Way:
    """One way to generate, with its record of every round."""

    def __init__(self, name, records):
        self.name, self.records = name, records
        self.model, batch, self.dtype, self.side = name.split("-")
        self.batch = int(batch)

    def rate(self, phase):
        """Tokens in a second by the median time of all prompts, or of a step; the median over the rounds."""
        rates = [(record[phase]["tokens"] if phase == "prefill" else self.batch) / record[phase]["time_s"]["median"]
                 for record in self.records]
        return statistics.median(rates)

    def busy(self):
        return max((r["busy_with_others"] for r in self.records if r.get("busy_with_others") is not None), default=None)

    def case(self):
        return self.model, self.batch, self.dtype


def read_ways(folder):
    with open(f"{folder}/ways", encoding="utf-8") as file:
        names = file.read().split()
    rounds = sorted(name for name in os.listdir(folder) if name.startswith("round-"))
    paths = {name: [f"{folder}/{each}/{name}.json" for each in rounds] for name in names}
    return [Way(name, [load(path) for path in paths[name]]) for name in names]


def ratio(way, ways, phase):
    """Of a rate to llama.cpp's in the same case."""
    peer = next(each for each in ways if each.side == "llama" and each.case() == way.case())
    return way.rate(phase) / peer.rate(phase)


def print_table(ways):
    lines = [["way", *(f"{phase} tokens/s" for phase in PHASES), *(f"{phase} x llama.cpp" for phase in PHASES), "busy"]]
    for way in ways:
        busy = way.busy()
        lines.append([f"{SIDES[way.side]} {way.model} {way.dtype}, batch {way.batch}",
                      *(f"{way.rate(phase):.1f}" for phase in PHASES),
                      *(f"{ratio(way, ways, phase):.2f}" for phase in PHASES),
                      "n/a" if busy is None else f"{busy:.0%}"])
    print_columns(lines)


def differences(folder):
    """{MODEL-DTYPE: the largest difference of a log probability}"""
    found = {}
    for name in sorted({file.rpartition("-")[0] for file in os.listdir(f"{folder}/scores")}):
        theirs = load(f"{folder}/scores/{name}-llama.json")["logprobs"]
        ours = [[each["logprob"] for each in output["logprobs"]]
                for output in load(f"{folder}/scores/{name}-ours.json")["outputs"]]
        pairs = [pair for one, other in zip(ours, theirs, strict=True) for pair in zip(one, other, strict=True)]
        found[name] = max(math.inf if math.isnan(a - b) else abs(a - b) for a, b in pairs)
    return found


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    ways, machine = read_ways(arguments.folder), processor()
    has = ", ".join(f"{name}: {'yes' if there else 'no'}" for name, there in machine["instructions"].items())
    print(f"{machine['name']}; {has}")
    for side in SIDES:
        used = next(way.records[0] for way in ways if way.side == side)
        print(f"{SIDES[side]}: {used['system'] if side == 'llama' else used['machine'].get('blas', 'unknown')}")
    print()
    print_table(ways)
    found = differences(arguments.folder)
    for name, difference in found.items():
        print(f"\n{name}: log probabilities differ by at most {difference:.1e}", end="")
    print()
    busiest = max((way.busy() for way in ways if way.busy() is not None), default=0)
    if busiest >= BUSY:
        print(f"\ntimings are not valid: other work took {busiest:.0%} of the cores' time from a way")
    wrong = [name for name, difference in found.items() if name.endswith("-f32") and not difference <= LIMIT]
    if arguments.json:
        write_record(arguments.json, {
            "schema": "shardline.peers_generation/1", "command": "generation", "processor": machine,
            "valid_timing": busiest < BUSY, "logprob_differences": found,
            "ways": [{"name": way.name, "model": way.model, "batch": way.batch, "dtype": way.dtype, "side": way.side,
                      **{f"{phase}_tokens_per_s": way.rate(phase) for phase in PHASES},
                      **{f"{phase}_ratio": ratio(way, ways, phase) for phase in PHASES},
                      "busy_with_others": way.busy(), "rounds": way.records} for way in ways]})
    for name in wrong:
        print(f"{name}: a log probability differs from llama.cpp's by more than {LIMIT:g}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
