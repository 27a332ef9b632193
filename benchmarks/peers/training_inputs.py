"""What both sides of training.sh start from: weights, samples and learning rates. Needs NumPy alone."""

import json
import math

import numpy

MASK = (1 << 64) - 1
ELEMENT_TYPES = {"F32": "<f4", "F64": "<f8"}


def read_safetensors(path):
    """{name: array} of a safetensors file: 8 bytes with the length of a JSON header, the header, and the elements."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] not in ELEMENT_TYPES:
            raise SystemExit(f"{path}: {name} has elements of {entry['dtype']}; {' and '.join(ELEMENT_TYPES)} are read")
        begin, end = entry["data_offsets"]
        elements = numpy.frombuffer(data[begin:end], dtype=ELEMENT_TYPES[entry["dtype"]])
        arrays[name] = elements.reshape(entry["shape"]).copy()
    return arrays


def mix(x):
    """The finaliser of SplitMix64, on 64 bits."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class CounterRng:
    """The generator of runtime/base/counter_rng: number i depends on the seed, the name and i alone."""

    def __init__(self, seed, name):
        self.key = mix(seed)
        for byte in name.encode():
            self.key = mix(self.key ^ byte)

    def bits(self, i):
        return mix((self.key + mix(i)) & MASK)

    def below(self, i, n):
        """A whole number in [0, n)."""
        return self.bits(i) * n >> 64


class Samples:
    """The training samples of models/data/byte_data for one file: bytes are tokens, the last tenth is held out."""

    def __init__(self, text, sequence, seed):
        self.text = numpy.frombuffer(text[:len(text) - len(text) // 10], dtype=numpy.uint8).astype(numpy.int64)
        self.sequence = sequence
        self.rng = CounterRng(seed, "training samples")

    def start(self, i):
        """Where sample i begins in the text."""
        return self.rng.below(i, len(self.text) - self.sequence)

    def batch(self, first, count):
        """Ids and labels, [count, sequence] each, of the samples from number `first` on."""
        windows = numpy.stack([self.text[self.start(i):][:self.sequence + 1] for i in range(first, first + count)])
        return windows[:, :-1], windows[:, 1:]


def learning_rate(highest, step, steps):
    """Of step `step`, which counts from 1: a rise, then a cosine down to a tenth, as in models/training/training."""
    rise = min(20, max(1, steps // 10))
    if step <= rise:
        return highest * step / rise
    progress = min(1.0, (step - rise) / max(1.0, steps - rise))
    return highest * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))
