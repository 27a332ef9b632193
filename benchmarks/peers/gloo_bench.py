#!/usr/bin/python3
"""Times Gloo's all_gather and all_reduce, through torch.distributed, the way `shardline bench` times ours.

    gloo_bench.py --ranks N --sizes BYTES,BYTES,... --rendezvous FILE --json FILE

Started once it starts N ranks on this machine; started by Open MPI's mpirun it is one of its ranks. Element type f32.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time

from ranks import start_ranks

ELEMENT_BYTES = 4
FEWEST_SAMPLES, MOST_SAMPLES = 5, 10000
MOST_RUNS = 1000000
SAMPLE = 1e-3  # seconds that the runs in a row of a sample take together, or one run that takes longer
WARMUP_SHARE = 0.1


def parse_arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--sizes", required=True, help="bytes, in nccl-tests' sense: what is gathered; a rank's buffer")
    parser.add_argument("--rendezvous", required=True, help="a file that does not exist yet and that all ranks see")
    parser.add_argument("--json", required=True)
    parser.add_argument("--interface", default="lo")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timed runs for each row")
    return parser.parse_args()


class AllGather:
    """Every rank gives a chunk and gets all of them; the last elements of an array that does not divide are padded."""

    name = "all_gather"

    def __init__(self, torch, ranks, rank, count):
        self.distributed = torch.distributed
        chunk = -(-count // ranks)
        self.expected = torch.arange(chunk * ranks, dtype=torch.float32) % (1 << 20)
        self.operand = self.expected[rank * chunk:(rank + 1) * chunk].clone()
        self.result = torch.full((chunk * ranks,), -1.0)
        self.chunks = list(self.result.chunk(ranks))

    def run(self):
        self.distributed.all_gather(self.chunks, self.operand)

    def prepare_timing(self):
        pass


class AllReduce:
    """Sums in place, the one way Gloo has."""

    name = "all_reduce"

    def __init__(self, torch, ranks, rank, count):
        self.distributed = torch.distributed
        values = torch.arange(count, dtype=torch.float32) % 1000
        self.expected = ranks * values + ranks * (ranks - 1) // 2
        self.result = values + rank

    def run(self):
        self.distributed.all_reduce(self.result)

    def prepare_timing(self):
        self.result.zero_()  # sums of sums stay finite


def timed_runs(torch, case, budget):
    """Times of a run in samples of the slowest rank, taken as bench takes them. On every rank alike."""
    distributed = torch.distributed

    def time_in_a_row(runs):
        distributed.barrier()
        begin = time.perf_counter()
        for _ in range(runs):
            case.run()
        return (time.perf_counter() - begin) / runs

    def agreed(number, fewest, most):
        value = torch.tensor([max(fewest, min(most, int(number)))])
        distributed.broadcast(value, 0)
        return int(value.item())

    warmups = agreed(budget * WARMUP_SHARE / time_in_a_row(1), 1, MOST_RUNS)
    each = time_in_a_row(warmups)
    runs = agreed(min(SAMPLE, budget / FEWEST_SAMPLES) / each, 1, MOST_RUNS)
    samples = agreed(budget / (each * runs), FEWEST_SAMPLES, MOST_SAMPLES)
    times = torch.tensor([time_in_a_row(runs) for _ in range(samples)], dtype=torch.float64)
    distributed.all_reduce(times, op=distributed.ReduceOp.MAX)
    return sorted(times.tolist())


def measure(torch, case_type, size, arguments, rank):
    count = -(-size // ELEMENT_BYTES)
    case = case_type(torch, arguments.ranks, rank, count)
    case.run()
    if not torch.equal(case.result, case.expected):
        raise SystemExit(f"gloo_bench: rank {rank}: {case.name} of {size} bytes gave a wrong result")
    case.prepare_timing()
    times = timed_runs(torch, case, arguments.seconds)
    return {
        "collective": case.name,
        "algorithm": "gloo",
        "ranks": arguments.ranks,
        "bytes": count * ELEMENT_BYTES,
        "time_s": {
            "min": times[0],
            "median": statistics.median(times),
            "p99": times[math.ceil(0.99 * len(times)) - 1],
            "max": times[-1],
        },
    }


def run_rank(arguments, rank):
    os.environ["GLOO_SOCKET_IFNAME"] = arguments.interface
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{arguments.rendezvous}", rank=rank, world_size=arguments.ranks
    )
    sizes = [int(size) for size in arguments.sizes.split(",")]
    rows = [measure(torch, case, size, arguments, rank) for case in (AllGather, AllReduce) for size in sizes]
    if rank == 0:
        with open(arguments.json + ".part", "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "rows": rows}, file, indent=1)
        os.rename(arguments.json + ".part", arguments.json)
    torch.distributed.barrier()


def main():
    arguments = parse_arguments()
    rank = os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK"))
    if rank is None:
        return start_ranks(arguments.ranks)
    run_rank(arguments, int(rank))
    return 0


sys.exit(main())
