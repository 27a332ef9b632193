#!/usr/bin/python3
"""Trains a LLaMA or Mixtral model with PyTorch the way `shardline train` does, and times every step.

    training_torch.py --model DIR --data FILE --json FILE [OPTION...]

DIR holds config.json and model.safetensors. The tokens, the initial weights, AdamW and the learning rates are those of
`shardline train`, so the losses must agree. Several processes make DistributedDataParallel over Gloo.
"""

import argparse
import json
import os
import sys
import time

from ranks import start_ranks

# The ends of the names of the parameters that AdamW does not decay, as in models/architecture/training_step.cpp: norms and
# the embedding.
WITHOUT_DECAY = ("norm.weight", "embed_tokens.weight")
BETAS, EPSILON, WEIGHT_DECAY, CLIP_NORM = (0.9, 0.95), 1e-8, 0.1, 1.0


def parse_arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=8, help="sequences of a step, over all processes")
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="bf16: autocast")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--passive", action="store_true", help="threads of OpenMP sleep while they wait")
    parser.add_argument("--cpus", required=True, help="one for every thread of every process: 0,1")
    return parser.parse_args()


def fast_environment(arguments, threads):
    """What makes PyTorch fastest on CPUs: as many threads as cores, memory that is kept, the widest vectors."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        wide = " avx512vl " in file.read()
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        # Without it malloc gives the memory of every large tensor back, and Linux clears it again for the next one.
        "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=2147483648:glibc.malloc.trim_threshold=8589934592"
                          ":glibc.malloc.hugetlb=1",
        "GLOO_SOCKET_IFNAME": "lo",
        **({"ATEN_CPU_CAPABILITY": "avx512"} if wide else {}),
        **({"OMP_WAIT_POLICY": "PASSIVE"} if arguments.passive else {}),
        "RENDEZVOUS": os.path.abspath(arguments.json + ".rendezvous"),
    }


def start_processes(arguments):
    """Runs this program once for every process, each with the fastest settings. Returns the exit code."""
    threads = len(arguments.cpus.split(",")) // arguments.processes
    return start_ranks(arguments.processes, fast_environment(arguments, threads))


def cpu_counters(cpus):
    """Seconds that Linux counted as idle, as stolen, and in all, summed over these CPUs."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    idle = stolen = counted = 0
    with open("/proc/stat", encoding="utf-8") as file:
        for line in file:
            name, *columns = line.split()
            if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in cpus:
                counts = [int(column) * tick for column in columns[:8]]
                idle += counts[3] + counts[4]
                stolen += counts[7]
                counted += sum(counts)
    return idle, stolen, counted


def share_of_others(before, after, cpus, elapsed, own):
    """The share of the CPUs' time that other work took, as our records have it. None if Linux does not count it."""
    idle, stolen, counted = (max(0.0, b - a) for a, b in zip(before, after))
    whole = elapsed * len(cpus)
    if elapsed < 0.2 or counted < 0.5 * whole:
        return None
    return min(1.0, max(0.0, whole - idle - own, stolen) / whole)


def decays(name):
    return not name.endswith(WITHOUT_DECAY)


class Trainer:
    """One process of a training run: the model, or its replica, and AdamW."""

    def __init__(self, torch, arguments, rank):
        from training_inputs import learning_rate, read_safetensors
        from training_llama import Llama

        self.torch, self.arguments = torch, arguments
        with open(f"{arguments.model}/config.json", encoding="utf-8") as file:
            self.model = Llama(json.load(file), arguments.seq)
        weights = read_safetensors(f"{arguments.model}/model.safetensors")
        self.model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        parameters = dict(self.model.named_parameters())
        groups = [{"params": [p for name, p in parameters.items() if decays(name) == with_decay],
                   "weight_decay": WEIGHT_DECAY if with_decay else 0} for with_decay in (True, False)]
        self.optimizer = torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON, foreach=False)
        self.learning_rate = lambda number: learning_rate(arguments.lr, number, arguments.steps)
        self.runner = self.model
        if arguments.processes > 1:
            torch.distributed.init_process_group("gloo", init_method=f"file://{os.environ['RENDEZVOUS']}", rank=rank,
                                                 world_size=arguments.processes)
            self.runner = torch.nn.parallel.DistributedDataParallel(self.model, gradient_as_bucket_view=True,
                                                                    static_graph=True)

    def step(self, number, ids, labels):
        """Training step `number`, which counts from 1. Returns this process's loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(number)
        self.optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.arguments.dtype == "bf16"):
            loss = self.runner(ids, labels)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.step()
        return loss.item()

    def barrier(self):
        if self.arguments.processes > 1:
            self.torch.distributed.barrier()


def timed_steps(trainer, samples, rank):
    """Losses and times of all steps. A step begins on all processes together, its samples are made before."""
    losses, times = [], []
    mine = trainer.arguments.batch // trainer.arguments.processes
    for i in range(trainer.arguments.steps):
        first = i * trainer.arguments.batch + rank * mine
        ids, labels = (trainer.torch.from_numpy(array) for array in samples.batch(first, mine))
        trainer.barrier()
        begin = time.perf_counter()
        losses.append(trainer.step(i + 1, ids, labels))
        times.append(time.perf_counter() - begin)
    trainer.barrier()
    return losses, times


def over_processes(torch, arguments, losses, times, own):
    """The mean losses, the times of the slowest process, and the CPU time of all."""
    if arguments.processes == 1:
        return losses, times, own
    sums = torch.tensor([*losses, own], dtype=torch.float64)
    slowest = torch.tensor(times, dtype=torch.float64)
    torch.distributed.all_reduce(sums)
    torch.distributed.all_reduce(slowest, op=torch.distributed.ReduceOp.MAX)
    return (sums[:-1] / arguments.processes).tolist(), slowest.tolist(), sums[-1].item()


def versions(torch):
    """PyTorch's, its vectors, its oneDNN (products in bf16), and the file of its BLAS (products in f32)."""
    built = torch.__config__.show()
    with open("/proc/self/maps", encoding="utf-8") as file:
        loaded = {os.path.basename(line.split()[-1]) for line in file if "blas" in line or "mkl" in line}
    return {
        "torch": torch.__version__,
        "vectors": built.split("CPU capability usage: ")[-1].split("\n")[0],
        "onednn": built.split("MKL-DNN v")[-1].split()[0],
        "blas": min(loaded, key=lambda name: (not name.startswith("libopenblas"), name), default="unknown"),
    }


def run_rank(arguments, rank):
    cpus = [int(cpu) for cpu in arguments.cpus.split(",")]
    threads = len(cpus) // arguments.processes
    os.sched_setaffinity(0, cpus[rank * threads:(rank + 1) * threads])  # before PyTorch starts threads
    import torch
    from table import write_record
    from training_inputs import Samples

    torch.set_num_threads(threads)
    trainer = Trainer(torch, arguments, rank)
    with open(arguments.data, "rb") as file:
        samples = Samples(file.read(), arguments.seq, arguments.seed)
    before, own, begin = cpu_counters(cpus), time.process_time(), time.perf_counter()
    losses, times = timed_steps(trainer, samples, rank)
    elapsed, after, own = time.perf_counter() - begin, cpu_counters(cpus), time.process_time() - own
    losses, times, own = over_processes(torch, arguments, losses, times, own)
    if rank == 0:
        tokens = arguments.batch * arguments.seq
        write_record(arguments.json, {
            "versions": versions(torch),
            "parameters": sum(p.numel() for p in trainer.model.parameters()),
            "steps": [{"step": i + 1, "loss": loss, "step_s": seconds, "tokens_per_s": tokens / seconds}
                      for i, (loss, seconds) in enumerate(zip(losses, times))],
            "busy_with_others": share_of_others(before, after, cpus, elapsed, own),
        })
    trainer.barrier()


def main():
    arguments = parse_arguments()
    if arguments.batch % arguments.processes or len(arguments.cpus.split(",")) % arguments.processes:
        raise SystemExit(f"training_torch: {arguments.processes} processes do not divide {arguments.batch} sequences "
                         f"and the CPUs {arguments.cpus}")
    rank = os.environ.get("RANK")
    if rank is None:
        return start_processes(arguments)
    run_rank(arguments, int(rank))
    return 0


if __name__ == "__main__":
    sys.exit(main())
