#!/usr/bin/env python3
"""Sets the rows of a `shardline bench` record from a torus beside what its links allow.

W is what a link carries one way, measured in the same run: the bandwidth of `shift` to the next position. V is the whole
array over all p ranks. A one-way ring takes at least V (p-1) / (p W) for an all_gather or reduce_scatter, twice that for an
all_reduce (V its array) and V (p-1) / (2 p W) for an all_to_all; both ways, over the L one-way links that enter a rank,
V (p-1) / (p L W), twice that, and on one axis V / (8 W) for even p, V (1 - 1/p^2) / (8 W) for odd p.
"""

import json
import statistics
import sys


def links_into_a_rank(mesh):
    return sum(0 if size == 1 else 1 if size == 2 else 2 for size in mesh.values())


def least_time(row, mesh, bandwidth):
    """Seconds; None where no formula is known."""
    p = row["ranks"]
    size = row["bytes"]
    collective = row["collective"]
    moving = [n for n in mesh.values() if n > 1]
    if row["algorithm"] == "ring":
        share = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2, "all_to_all": p / 2}[collective]
        return share * size * (p - 1) / p / bandwidth
    if collective == "all_to_all":
        if len(moving) > 1:
            return None
        whole = size * p
        if p == 2:
            return whole / 4 / bandwidth
        return whole * (1 if p % 2 == 0 else 1 - 1 / p**2) / 8 / bandwidth
    share = 2 if collective == "all_reduce" else 1
    return share * size * (p - 1) / p / links_into_a_rank(mesh) / bandwidth


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: table.py RECORD")
    with open(sys.argv[1], encoding="utf-8") as file:
        record = json.load(file)
    mesh = record["mesh"]
    rows = record["rows"]
    streams = [row["algbw"] for row in rows if row["collective"] == "shift" and row["algorithm"] == "ring"]
    # On a torus of several axes a shift by one position does not always go to a neighbour: several
    # share a link.
    bandwidth = max(streams)
    print(f"mesh {mesh}, W = {bandwidth / 1e6:.1f} MB/s one way, the best stream to the next position in this run")
    print(f"{'collective':<16}{'algorithm':<15}{'bytes':>10}{'median':>12}{'least':>12}{'ratio':>8}{'x native':>10}")
    ratios = {}
    for row in rows:
        if row["algorithm"] == "native" or row["collective"] == "shift":
            continue
        least = least_time(row, mesh, bandwidth)
        median = row["time_s"]["median"]
        faster = row.get("times_native")
        faster = f"{faster:.2f}" if faster else "n/a"
        if least is None:
            print(f"{row['collective']:<16}{row['algorithm']:<15}{row['bytes']:>10.0f}{median * 1e3:>9.1f} ms{'n/a':>12}"
                  f"{'n/a':>8}{faster:>10}")
            continue
        ratios.setdefault((row["collective"], row["algorithm"]), []).append(median / least)
        print(f"{row['collective']:<16}{row['algorithm']:<15}{row['bytes']:>10.0f}{median * 1e3:>9.1f} ms"
              f"{least * 1e3:>9.1f} ms{median / least:>8.3f}{faster:>10}")
    print("\nmedian over the sizes of time / least time")
    for (collective, algorithm), values in ratios.items():
        print(f"{collective:<16}{algorithm:<15}{statistics.median(values):>8.3f}")


if __name__ == "__main__":
    main()
