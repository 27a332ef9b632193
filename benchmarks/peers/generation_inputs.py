#!/usr/bin/env python3
"""What both sides of generation.sh start from: a model of random weights, and prompts.

    generation_inputs.py model PARAMETERS FOLDER    a LLaMA model, `30m`, `100m` or `800m`, as config.json and model.safetensors
    generation_inputs.py prompts TEXT COUNT BYTES FILE    lines of the text, each of so many bytes
    generation_inputs.py job JOB.json PROMPTS THREADS TOKENS [RECORD]    what generation_llama.mjs is to do

The model reads bytes, so a prompt of 512 bytes has 512 tokens. Without a RECORD the job is to add TOKENS ids to each prompt, with
caches of f16 and attention in blocks: llama.cpp's defaults, and its fastest way here. A RECORD is that of `shardline generate`, and the
job is to judge the ids that it added, with caches of f32 and without blocks: its most precise way. Needs NumPy alone.
"""

import json
import sys

import numpy

VOCABULARY = 32000
# hidden_size, intermediate_size, layers, heads, key-value heads; heads have 64 elements
MODELS = {"30m": (512, 1408, 6, 8, 4), "100m": (768, 2048, 12, 12, 4), "800m": (1536, 4096, 30, 24, 8)}


def tensors_of(width, inner, layers, heads, key_heads):
    """{name: shape} of the weights, with one table for embedding and output."""
    shapes = {"model.embed_tokens.weight": (VOCABULARY, width), "model.norm.weight": (width,)}
    for layer in range(layers):
        at = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{at}{name}.weight"] = (width,)
        for name, out, into in (("self_attn.q_proj", heads * 64, width), ("self_attn.k_proj", key_heads * 64, width),
                                ("self_attn.v_proj", key_heads * 64, width), ("self_attn.o_proj", width, heads * 64),
                                ("mlp.gate_proj", inner, width), ("mlp.up_proj", inner, width), ("mlp.down_proj", width, inner)):
            shapes[f"{at}{name}.weight"] = (out, into)
    return shapes


def values(shape, random):
    """Those of a norm are about 1. Others keep the size of what they multiply."""
    if len(shape) == 1:
        return random.uniform(0.5, 1.5, shape).astype(numpy.float32)
    return random.standard_normal(shape, numpy.float32) / numpy.float32(shape[1] ** 0.5)


def write_model(name, folder):
    width, inner, layers, heads, key_heads = MODELS[name]
    config = {"model_type": "llama", "vocab_size": VOCABULARY, "hidden_size": width, "intermediate_size": inner,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": key_heads, "head_dim": 64,
              "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True, "hidden_act": "silu",
              "max_position_embeddings": 2048}
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    # Notes of a model that reads bytes and has seen sequences of 2048 tokens, as `train --save` leaves them.
    header, end = {"__metadata__": {"format": "pt", "shardline_text": "bytes", "shardline_sequence": "2048"}}, 0
    shapes = tensors_of(width, inner, layers, heads, key_heads)
    for tensor, shape in shapes.items():
        begin, end = end, end + 4 * int(numpy.prod(shape))
        header[tensor] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    head = json.dumps(header).encode()
    random = numpy.random.default_rng(1)
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for shape in shapes.values():
            file.write(values(shape, random).tobytes())
    return end // 4


def write_prompts(text, count, size, path):
    with open(text, encoding="utf-8") as file:
        plain = "".join(c if " " <= c <= "~" else " " for c in file.read())
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(plain[i * size:(i + 1) * size] + "\n")


def write_job(path, prompts, threads, tokens, record=None):
    with open(prompts, encoding="utf-8") as file:
        job = {"threads": threads, "tokens": tokens, "runs": 1, "cache": "f16", "flash": "auto",
               "prompts": [list(line.rstrip("\n").encode()) for line in file]}
    if record:
        with open(record, encoding="utf-8") as file:
            continuations = [output["tokens"] for output in json.load(file)["outputs"]]
        job.update(cache="f32", flash=False, continuations=continuations)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(job, file)


def main():
    what, *rest = sys.argv[1:]
    if what == "model":
        print(write_model(*rest))
    elif what == "prompts":
        write_prompts(rest[0], int(rest[1]), int(rest[2]), rest[3])
    else:
        write_job(rest[0], rest[1], int(rest[2]), int(rest[3]), *rest[4:])


if __name__ == "__main__":
    main()
