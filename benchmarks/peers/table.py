#!/usr/bin/env python3
"""Prints our collectives beside those of Open MPI and Gloo.

    table.py BENCH.json [GLOO.json] [--json FILE] [--docs COLD.json]

BENCH.json is what `shardline bench --algorithm auto,native --json` wrote, GLOO.json what gloo_bench.py did. A ratio is the
peer's median over ours: above 1 ours is the faster. The column copy is memcpy of as many bytes as the result has. With
--docs, where COLD.json is a record of `bench --cold`, the tables of docs/collectives.md follow, in Markdown. Exit code 1
where a result was wrong.
"""

import argparse
import json
import os
import statistics
import sys

OURS = "auto"
PEERS = {"native": "Open MPI", "gloo": "Gloo"}


def parse_arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("bench")
    parser.add_argument("gloo", nargs="?")
    parser.add_argument("--json")
    parser.add_argument("--docs", metavar="COLD.json")
    return parser.parse_args()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def medians(rows):
    """{(collective, bytes): {algorithm: median}} in the order of the rows."""
    table = {}
    for row in rows:
        table.setdefault((row["collective"], row["bytes"]), {})[row["algorithm"]] = row["time_s"]["median"]
    return table


def copies(rows):
    """{(collective, bytes): time of a plain copy}, where bench measured one."""
    return {(row["collective"], row["bytes"]): row["copy_s"] for row in rows if "copy_s" in row}


def size_text(size):
    """As --bytes takes it: 64K, 16M; a number that is not whole in K as it is."""
    for unit, suffix in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{int(size) // unit}{suffix}"
    return str(int(size))


def time_text(seconds):
    if seconds is None:
        return "n/a"
    for unit, name in ((1e-6, "us"), (1e-3, "ms")):
        if seconds < 1000 * unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 100 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds:.3g} s"


def ratio_text(ratio):
    return "n/a" if ratio is None else f"{ratio:.2f}"


def ratios_of(times):
    ours = times.get(OURS)
    return {peer: times[peer] / ours if ours and peer in times else None for peer in PEERS}


def summary(table):
    """{collective: {peer: median over the sizes of peer / ours}}"""
    collected = {}
    for (collective, _), times in table.items():
        peers = collected.setdefault(collective, {peer: [] for peer in PEERS})
        for peer, ratio in ratios_of(times).items():
            if ratio is not None:
                peers[peer].append(ratio)
    return {
        collective: {peer: statistics.median(ratios) if ratios else None for peer, ratios in peers.items()}
        for collective, peers in collected.items()
    }


def print_columns(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                        for i, (text, width) in enumerate(zip(line, widths))).rstrip())


def print_table(table, copy_of, medians_of_ratios):
    lines = [["collective", "bytes", "ours", *PEERS.values(), "copy", *(f"{name} / ours" for name in PEERS.values())]]
    for (collective, size), times in table.items():
        ratios = ratios_of(times)
        lines.append([collective, size_text(size), *(time_text(times.get(who)) for who in (OURS, *PEERS)),
                      time_text(copy_of.get((collective, size))),
                      *(ratio_text(ratios[peer]) for peer in PEERS)])
    print_columns(lines)
    print("\nmedian of the ratios over the sizes; above 1 ours is the faster")
    lines = [["collective", *(f"{name} / ours" for name in PEERS.values())]]
    lines += [[collective, *(ratio_text(ratios[peer]) for peer in PEERS)]
              for collective, ratios in medians_of_ratios.items()]
    print_columns(lines)


COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all")
CLASSES = (("4 to 64 KiB", 1 << 12, 1 << 16), ("1 to 16 MiB", 1 << 20, 1 << 24), ("64 MiB", 1 << 26, 1 << 26))
NEAR_THE_FLOOR = 1.3


def class_cell(table, copy_of, collective, least, most):
    """A cell of the table of docs: the median ratio and, where it is low, how near ours is to a plain copy."""
    ratios, over_copy = [], []
    for (name, size), times in table.items():
        if name != collective or not least <= size <= most or OURS not in times or "native" not in times:
            continue
        ratios.append(times["native"] / times[OURS])
        over_copy.append(times[OURS] / copy_of[name, size])
    if not ratios:
        return "n/a"
    ratio = statistics.median(ratios)
    return f"{ratio:.1f}" + (f" (copy x {statistics.median(over_copy):.1f})" if ratio < NEAR_THE_FLOOR else "")


def busy_text(record):
    share = record.get("busy_with_others")
    return "unknown" if share is None else f"{share:.2f}"


def markdown_of_classes(bench, cold):
    lines = ["| sizes | " + " | ".join(COLLECTIVES) + " | `busy_with_others` |", "| --- " * (len(COLLECTIVES) + 2) + "|"]
    for record, suffix, classes in ((bench, "", CLASSES), (cold, ", cold caches", CLASSES[1:2])):
        table, copy_of = medians(record["rows"]), copies(record["rows"])
        for name, least, most in classes:
            cells = [class_cell(table, copy_of, collective, least, most) for collective in COLLECTIVES]
            lines.append("| " + " | ".join([name + suffix, *cells, busy_text(record)]) + " |")
    return lines


def markdown_of_times(bench):
    """The times at 64 MiB."""
    table, copy_of = medians(bench["rows"]), copies(bench["rows"])
    memory = {row["algorithm"]: row["memory"] for row in bench["rows"]}
    lines = [f"| 64 MiB | `auto` ({memory[OURS]}) | `native` ({memory['native']}) | copy |", "| --- | --- | --- | --- |"]
    for collective in COLLECTIVES:
        times = table.get((collective, 1 << 26), {})
        copy = copy_of.get((collective, 1 << 26))
        lines.append("| " + " | ".join([collective, *(time_text(time) for time in
                                                      (times.get(OURS), times.get("native"), copy))]) + " |")
    return lines


def write_record(path, record):
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    os.rename(path + ".part", path)


def main():
    arguments = parse_arguments()
    bench = load(arguments.bench)
    gloo = load(arguments.gloo) if arguments.gloo else {"rows": []}
    rows = bench["rows"] + gloo["rows"]
    table = medians(rows)
    medians_of_ratios = summary(table)
    machine = bench["machine"]
    print(f"{bench['rows'][0]['ranks']} ranks; {machine['mpi'].split(',')[0]}; "
          + (f"Gloo of PyTorch {gloo['torch']}" if arguments.gloo else "no Gloo"))
    if bench["valid_timing"] is not True:
        print(f"timings are not valid: {bench.get('valid_timing_reason', 'no reason given')}")
    print()
    print_table(table, copies(bench["rows"]), medians_of_ratios)
    if arguments.docs:
        cold = load(arguments.docs)
        print("\nfor docs/collectives.md\n")
        print("\n".join([*markdown_of_classes(bench, cold), "", *markdown_of_times(bench)]))
        bench["rows"] += cold["rows"]  # a wrong one among them counts
    if arguments.json:
        write_record(arguments.json, {"schema": "shardline.peers/1", "command": "peers", "mesh": bench["mesh"],
                                      "machine": {**machine, "torch": gloo.get("torch")},
                                      "valid_timing": bench["valid_timing"], "rows": rows,
                                      "median_ratios": medians_of_ratios})
    wrong = [row for row in bench["rows"] if row["wrong"]]
    for row in wrong:
        print(f"wrong: {row['collective']} by {row['algorithm']}, {row['bytes']} bytes", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
