#!/usr/bin/env python3
"""Prints where the time of our training step goes, and how fast its products are alone.

    training_where.py --model DIR --batch B --seq T --shardline PROGRAM [--json FILE] RECORD...

A RECORD is that of `shardline train` on one rank. Each different product of its program is then run by
`shardline matmul`, which repeats it with the same operands. DIR has the config.json of the model.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys

from table import load, print_columns, time_text, write_record
from training_machine import processor
from training_table import text, timed_steps

LEAST_SHARE = 0.005  # of the step; kinds below it are joined
PRODUCT = re.compile(r"^\S+\[([^\]]*)\] = \S+\[([^\]]*)\] \*_\w+ \S+\[([^\]]*)\]$")


def parse_arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("records", nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--shardline", required=True)
    parser.add_argument("--json")
    return parser.parse_args()


def products(program):
    """{"A[..] * B[..] -> C[..]": how often the program has it}, in the order of the program."""
    counts = {}
    for line in program:
        found = PRODUCT.match(line)
        if found:
            key = f"A[{found[2]}] * B[{found[3]}] -> C[{found[1]}]"
            counts[key] = counts.get(key, 0) + 1
    return counts


def sizes_of(config, batch, sequence):
    """The extents of the dims of the program."""
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    return {"B": batch, "T": sequence, "D": config["hidden_size"], "F": config["intermediate_size"],
            "H": config["head_dim"], "K": key_heads, "G": heads // key_heads, "V": config["vocab_size"]}


def measured_alone(shardline, product, sizes, dtype):
    """The median time of a product in seconds, and its FLOPs."""
    letters = sorted(set(re.findall(r"[A-Z]", "".join(re.findall(r"\[([^\]]*)\]", product)))))
    command = [shardline, "matmul", product, "--size", ",".join(f"{dim}={sizes[dim]}" for dim in letters),
               "--dtype", dtype, "--threads", "1", "--json", "-"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"training: {' '.join(command)}: {done.stderr}")
    operation = next(each for each in json.loads(done.stdout)["operations"] if each["kind"] == "einsum")
    return operation["measured_s"], operation["flops"]


def kinds_of(record):
    """The kinds of operations, the longest first: name, time in a step in seconds, FLOPs in a step."""
    steps = len(timed_steps(record))
    kinds = [{"kind": each["text"], "s": each["measured_s"] / steps, "flops": each["flops"] / steps}
             for each in record["operations"]]
    return sorted(kinds, key=lambda kind: -kind["s"])


def rate_text(flops, seconds):
    return f"{flops / seconds / 1e9:.1f}"


def print_kinds(kinds, step):
    lines = [["operation", "time", "of the step", "GFLOP/s"]]
    shown = [kind for kind in kinds if kind["s"] >= LEAST_SHARE * step]
    for kind in shown:
        rate = rate_text(kind["flops"], kind["s"])
        lines.append([kind["kind"], time_text(kind["s"]), f"{kind['s'] / step:.1%}", rate])
    rest = sum(kind["s"] for kind in kinds[len(shown):])
    outside = step - sum(kind["s"] for kind in kinds)
    for title, seconds in ((f"{len(kinds) - len(shown)} more kinds", rest), ("between operations", outside)):
        lines.append([title, time_text(max(0.0, seconds)), f"{max(0.0, seconds) / step:.1%}", ""])
    print_columns(lines)


def print_products(rows, inside):
    """`inside`: the kind that has these products in a step."""
    lines = [["product alone", "count", "time", "GFLOP/s"]]
    for row in sorted(rows, key=lambda row: -row["count"] * row["s"]):
        lines.append([row["product"], str(row["count"]), time_text(row["s"]), rate_text(row["flops"], row["s"])])
    alone, flops = (sum(row["count"] * row[key] for row in rows) for key in ("s", "flops"))
    count = sum(row["count"] for row in rows)
    lines.append(["all of a step, alone", str(count), time_text(alone), rate_text(flops, alone)])
    lines.append(["the same in the step", "", time_text(inside["s"]), rate_text(inside["flops"], inside["s"])])
    print_columns(lines)


def where(record, sizes, shardline):
    """Prints the tables of a record. Returns what they show."""
    step = statistics.mean(each["step_s"] for each in timed_steps(record))  # as the kinds are means
    kinds = kinds_of(record)
    busy = record.get("busy_with_others")
    print(f"{record['dtype']} on one core: a step takes {time_text(step)}, {record['mfu']:.0%} of the rate of products "
          f"measured at start (MFU); busy {text(busy, '.0%')}\n{record['machine']['blas']}\n")
    print_kinds(kinds, step)
    print()
    rows = []
    for product, count in products(record["program"]).items():
        seconds, flops = measured_alone(shardline, product, sizes, record["dtype"])
        rows.append({"product": product, "count": count, "s": seconds, "flops": flops})
    print_products(rows, next(kind for kind in kinds if kind["kind"] == "einsum"))
    return {"dtype": record["dtype"], "step_s": step, "mfu": record["mfu"], "busy_with_others": busy,
            "operations": kinds, "products_alone": rows, "run": record}


def main():
    arguments = parse_arguments()
    sizes = sizes_of(load(f"{arguments.model}/config.json"), arguments.batch, arguments.seq)
    results = []
    for path in arguments.records:
        if results:
            print()
        results.append(where(load(path), sizes, arguments.shardline))
    if arguments.json:
        write_record(arguments.json, {"schema": "shardline.peers_training_where/1", "command": "training",
                                      "processor": processor(), "records": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
