"""The processor under training.sh: which CPUs are cores of their own, its name, and the instructions that matter."""

import os

INSTRUCTIONS = {"avx2": "avx2", "avx512f": "avx512f", "avx512_bf16": "avx512_bf16", "amx": "amx_bf16"}


def cores():
    """A CPU of every core that this process may use."""
    seen, chosen = set(), []
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="utf-8") as file:
                core = file.read()
        except OSError:
            core = str(cpu)
        if core not in seen:
            seen.add(core)
            chosen.append(cpu)
    return chosen


def processor():
    """Its name, and which of INSTRUCTIONS it has."""
    name, flags = "unknown", []
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() == "flags":
                flags = value.split()
                break
    return {"name": name, "instructions": {title: flag in flags for title, flag in INSTRUCTIONS.items()}}


if __name__ == "__main__":
    print(*cores())
