#!/usr/bin/python3
"""Models in folders as Hugging Face writes them, and what PyTorch makes of them. For hugging_face_test.sh:

    hugging_face.py make FOLDER             writes the models of CASES, and the text
    hugging_face.py logits FOLDER           compares FOLDER/CASE/logits.f64 with PyTorch's logits
    hugging_face.py training FOLDER PEERS   compares FOLDER/CASE-WAY.json and the folders FOLDER/CASE-WAY with training by
                                            PyTorch; PEERS has training_inputs.py

The model is written here from the definitions of LLaMA, Mistral, Mixtral and Qwen2, on plain tensors in f64. It shares nothing
with Shardline. Files are written and read here too.
"""

import itertools
import json
import math
import os
import struct
import sys

import numpy
import torch

VOCABULARY, LAYERS, TOKENS = 256, 2, 14
TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
TEXT = "".join(f"line {i * i % 97};\n" for i in range(400)).encode()

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
# The same, in the three spellings that are found.
ROPE_OF_LLAMA3 = {
    "F32": {"rope_theta": 20000.0, "rope_scaling": {"rope_type": "llama3", **LLAMA3}},
    "F16": {"rope_theta": 20000.0, "rope_scaling": {"type": "llama3", **LLAMA3}},
    "BF16": {"rope_parameters": {"rope_type": "llama3", "rope_theta": 20000.0, **LLAMA3}},
}
SIZES = {"vocab_size": VOCABULARY, "num_hidden_layers": LAYERS, "hidden_size": 48, "intermediate_size": 40,
         "num_attention_heads": 6, "num_key_value_heads": 2, "rms_norm_eps": 1e-5}
CONFIGS = {
    "llama2": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SIZES, "hidden_act": "silu",
               "pretraining_tp": 1, "rope_scaling": None, "tie_word_embeddings": False, "use_cache": True},
    "llama3": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SIZES, "attention_bias": False,
               "head_dim": 16, "max_position_embeddings": 256, "mlp_bias": False, "tie_word_embeddings": False},
    "mistral": {"model_type": "mistral", "architectures": ["MistralForCausalLM"], **SIZES, "head_dim": 10,
                "rope_theta": 1000000.0, "sliding_window": None, "tie_word_embeddings": False},
    "mixtral": {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], **SIZES, "num_local_experts": 5,
                "num_experts_per_tok": 2, "output_router_logits": True, "router_aux_loss_coef": 0.5,
                "router_jitter_noise": 0.0, "sliding_window": None, "tie_word_embeddings": False},
    "qwen2": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], **SIZES, "max_window_layers": 28,
              "rope_theta": 1000000.0, "sliding_window": 131072, "use_sliding_window": False,
              "tie_word_embeddings": False},
    "smollm2": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SIZES, "num_attention_heads": 3,
                "num_key_value_heads": 1, "is_llama_config": True, "rope_interleaved": False, "rope_theta": 100000,
                "rope_scaling": None, "tie_word_embeddings": True,
                "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}},
}
CASES = [f"{model}-{dtype.lower()}-{files}"
         for model, dtype, files in itertools.product(CONFIGS, ("F32", "F16", "BF16"), ("one", "several"))]


# ---- the model


def settings(config):
    """What a configuration says, in one form."""
    heads = config["num_attention_heads"]
    sparse = config["model_type"] == "mixtral"
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    scaled = rope.get("rope_type", rope.get("type")) == "llama3"
    return {
        "layers": config["num_hidden_layers"],
        "heads": heads,
        "kv_heads": config["num_key_value_heads"],
        "head_dim": config.get("head_dim") or config["hidden_size"] // heads,
        "epsilon": config["rms_norm_eps"],
        "theta": float(rope.get("rope_theta", config.get("rope_theta", 1e6 if sparse else 10000.0))),
        "scaling": {key: float(rope[key]) for key in LLAMA3} if scaled else None,
        "tied": config["tie_word_embeddings"],
        "biases": config["model_type"] == "qwen2",
        "experts": config["num_local_experts"] if sparse else 0,
        "chosen": config["num_experts_per_tok"] if sparse else 0,
        "balance": config["router_aux_loss_coef"] if sparse and config["output_router_logits"] else 0.0,
    }


def frequencies(config):
    """Radians per position of each pair. The scaling is that of Llama 3.1, by wavelengths."""
    plain = config["theta"] ** -(torch.arange(0, config["head_dim"], 2, dtype=torch.float64) / config["head_dim"])
    scaling = config["scaling"]
    if scaling is None:
        return plain
    result = []
    for frequency in plain.tolist():
        wavelength = 2 * math.pi / frequency
        if wavelength < scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]:
            result.append(frequency)
        elif wavelength > scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]:
            result.append(frequency / scaling["factor"])
        else:
            smooth = (scaling["original_max_position_embeddings"] / wavelength - scaling["low_freq_factor"]) / (
                scaling["high_freq_factor"] - scaling["low_freq_factor"])
            result.append((1 - smooth) * frequency / scaling["factor"] + smooth * frequency)
    return torch.tensor(result, dtype=torch.float64)


def rotated(x, config):
    """x [B, heads, T, H] with every pair (x[i], x[i + H/2]) turned by the angle of its position."""
    angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * frequencies(config)
    angles = torch.cat((angles, angles), -1)
    low, high = x.chunk(2, -1)
    return x * angles.cos() + torch.cat((-high, low), -1) * angles.sin()


def norm(x, weight, config):
    return weight * (x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + config["epsilon"]))


def attention(x, layer, config):
    def heads(which, count):
        y = x @ layer(f"self_attn.{which}_proj.weight").T
        if config["biases"]:
            y = y + layer(f"self_attn.{which}_proj.bias")
        return y.view(*x.shape[:2], count, config["head_dim"]).transpose(1, 2)

    group = config["heads"] // config["kv_heads"]
    q = rotated(heads("q", config["heads"]), config)
    k = rotated(heads("k", config["kv_heads"]), config).repeat_interleave(group, 1)
    v = heads("v", config["kv_heads"]).repeat_interleave(group, 1)
    scores = q @ k.transpose(2, 3) / math.sqrt(config["head_dim"])
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    o = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
    return o.transpose(1, 2).reshape(*x.shape[:2], -1) @ layer("self_attn.o_proj.weight").T


def mlp(x, gate, up, down):
    gate = x @ gate.T
    return (gate * torch.sigmoid(gate) * (x @ up.T)) @ down.T


def experts(x, layer, config):
    """Every expert computes every token; its weight is zero where the token does not pass it. Second, what uneven
    routing adds to the loss: of each sequence the shares of tokens that pass an expert, times its mean probability."""
    probabilities = (x @ layer("block_sparse_moe.gate.weight").T).softmax(-1)
    least = probabilities.sort(-1, descending=True).values[..., config["chosen"] - 1, None]
    passes = (probabilities >= least).to(x.dtype)
    weights = probabilities * passes
    weights = weights / weights.sum(-1, keepdim=True)
    result = torch.zeros_like(x)
    for number in range(config["experts"]):
        w1, w2, w3 = (layer(f"block_sparse_moe.experts.{number}.w{which}.weight") for which in (1, 2, 3))
        result = result + weights[..., number, None] * mlp(x, w1, w3, w2)
    uneven = (config["experts"] * passes.mean(1) * probabilities.mean(1)).sum(-1).mean()
    return result, config["balance"] * uneven / config["layers"]


def logits_of(config, weights, ids, uneven=None):
    """[B, T, vocabulary] of ids [B, T]. Appends to `uneven`, a list, what uneven routing adds to the loss."""
    x = weights["model.embed_tokens.weight"][ids]
    for number in range(config["layers"]):
        def layer(name, number=number):
            return weights[f"model.layers.{number}.{name}"]

        x = x + attention(norm(x, layer("input_layernorm.weight"), config), layer, config)
        normed = norm(x, layer("post_attention_layernorm.weight"), config)
        if config["experts"]:
            fed, of_layer = experts(normed, layer, config)
            if uneven is not None:
                uneven.append(of_layer)
        else:
            fed = mlp(normed, *(layer(f"mlp.{which}_proj.weight") for which in ("gate", "up", "down")))
        x = x + fed
    output = weights["model.embed_tokens.weight" if config["tied"] else "lm_head.weight"]
    return norm(x, weights["model.norm.weight"], config) @ output.T


# ---- files


def shapes(config):
    """{name: shape} of the tensors of a model."""
    its = settings(config)
    width, inner = config["hidden_size"], config["intermediate_size"]
    queries, keys = its["heads"] * its["head_dim"], its["kv_heads"] * its["head_dim"]
    found = {"model.embed_tokens.weight": (VOCABULARY, width), "model.norm.weight": (width,)}
    if not its["tied"]:
        found["lm_head.weight"] = (VOCABULARY, width)
    for number in range(its["layers"]):
        layer = {"input_layernorm.weight": (width,), "post_attention_layernorm.weight": (width,),
                 "self_attn.o_proj.weight": (width, queries)}
        if its["experts"]:
            layer["block_sparse_moe.gate.weight"] = (its["experts"], width)
            for expert in range(its["experts"]):
                at = f"block_sparse_moe.experts.{expert}"
                layer.update({f"{at}.w1.weight": (inner, width), f"{at}.w2.weight": (width, inner),
                              f"{at}.w3.weight": (inner, width)})
        else:
            layer.update({"mlp.gate_proj.weight": (inner, width), "mlp.up_proj.weight": (inner, width),
                          "mlp.down_proj.weight": (width, inner)})
        for which, size in (("q", queries), ("k", keys), ("v", keys)):
            layer[f"self_attn.{which}_proj.weight"] = (size, width)
            if its["biases"]:
                layer[f"self_attn.{which}_proj.bias"] = (size,)
        found.update({f"model.layers.{number}.{name}": shape for name, shape in layer.items()})
    return found


def random_weights(config, dtype):
    """Weights that are far from those of any other model. The first of each tensor is subnormal in f16."""
    weights = {}
    for name, shape in sorted(shapes(config).items()):
        values = torch.randn(shape, dtype=torch.float64) * (0.5 if name.endswith("bias") else 0.2)
        if "norm" in name:
            values += 1
        values.flatten()[0] = -5 * 2.0**-24
        weights[name] = values.to(dtype)
    return weights


def write_file(path, tensors, dtype):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        size = tensor.element_size()
        words = tensor.contiguous().view({2: torch.int16, 4: torch.int32}[size]).numpy().tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(words)]}
        data += words
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_file(path):
    """{name: tensor in f64}"""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = TYPES[entry["dtype"]]
        tensor = torch.frombuffer(bytearray(data[begin:end]), dtype=dtype).reshape(entry["shape"])
        tensors[name] = tensor.to(torch.float64)
    return tensors


def write_model(folder, config, dtype, files):
    os.makedirs(folder)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    weights = random_weights(config, TYPES[dtype])
    if files == "one":
        return write_file(f"{folder}/model.safetensors", weights, dtype)
    names, where = sorted(weights), {}
    for number in range(3):
        name = f"model-{number + 1:05}-of-00003.safetensors"
        part = {each: weights[each] for each in names[number::3]}
        write_file(f"{folder}/{name}", part, dtype)
        where.update({each: name for each in part})
    with open(f"{folder}/model.safetensors.index.json", "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": 0}, "weight_map": where}, file)


def read_model(folder):
    """The configuration and {name: tensor in f64}."""
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    weights = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            weights.update(read_file(f"{folder}/{name}"))
    return config, weights


# ---- what is compared


def distance(found, wanted):
    """The largest difference, relative to the largest number that is wanted."""
    if found.shape != wanted.shape:
        return math.inf
    worst = ((found - wanted).abs().max() / wanted.abs().max()).item()
    return worst if math.isfinite(worst) else math.inf


def report(what, found, allowed):
    verdict = "" if found <= allowed else "   FAILED"
    print(f"{what:<56} {found:.1e} of {allowed:.0e}{verdict}")
    return found <= allowed


def make(folder):
    torch.manual_seed(1)
    for case in CASES:
        model, dtype, files = case.split("-")
        config = dict(CONFIGS[model], **(ROPE_OF_LLAMA3[dtype.upper()] if model == "llama3" else {}))
        write_model(f"{folder}/{case}", config, dtype.upper(), files)
    with open(f"{folder}/text", "wb") as file:
        file.write(TEXT)
    return True


def check_logits(folder):
    right = True
    for case in sorted(os.listdir(folder)):
        path = f"{folder}/{case}/logits.f64"
        if not os.path.exists(path):
            continue
        config, weights = read_model(f"{folder}/{case}")
        ids = torch.tensor(list(TEXT[:TOKENS]))[None]
        ours = torch.from_numpy(numpy.fromfile(path)).reshape(TOKENS, VOCABULARY)
        right &= report(f"{case}: logits", distance(ours, logits_of(settings(config), weights, ids)[0]), 1e-10)
    return right


def train(config, weights, peers, steps, batch, sequence, highest):
    """Losses, norms of gradients, and the weights after as many steps of AdamW as `shardline train` does them."""
    sys.path.insert(0, peers)
    from training_inputs import Samples, learning_rate

    samples = Samples(TEXT, sequence, 0)
    parameters = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    decay = [p for name, p in parameters.items() if p.dim() > 1 and "embed" not in name]
    others = [p for name, p in parameters.items() if p.dim() == 1 or "embed" in name]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  betas=(0.9, 0.95), eps=1e-8)
    losses, norms = [], []
    for step in range(1, steps + 1):
        ids, labels = (torch.from_numpy(array.copy()) for array in samples.batch((step - 1) * batch, batch))
        uneven = []
        found = logits_of(config, parameters, ids, uneven)
        loss = torch.nn.functional.cross_entropy(found.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        (loss + sum(uneven)).backward()
        norms.append(math.sqrt(sum(p.grad.pow(2).sum().item() for p in parameters.values())))
        for p in parameters.values():  # clip_grad_norm_ adds 1e-6 to the norm
            p.grad *= min(1.0, 1.0 / norms[-1])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(highest, step, steps)
        optimizer.step()
        losses.append(loss.item())
    return losses, norms, {name: p.detach() for name, p in parameters.items()}


def worst_of(found, wanted):
    return max(abs(a - b) / b for a, b in zip(found, wanted)) if len(found) == len(wanted) else math.inf


def check_training(folder, peers):
    right = True
    ids = torch.tensor(list(TEXT[:TOKENS]))[None]
    for record in sorted(name for name in os.listdir(folder) if name.endswith(".json")):
        run = record[:-len(".json")]
        config, weights = read_model(f"{folder}/{run.rsplit('-', 1)[0]}")
        with open(f"{folder}/{record}", encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        losses, norms, trained = train(settings(config), weights, peers, len(steps), 6, 9, 1e-2)
        saved_config, saved = read_model(f"{folder}/{run}")
        exact = run.endswith("64")
        allowed = 1e-9 if exact else 2e-4
        right &= report(f"{run}: losses", worst_of([step["loss"] for step in steps], losses), allowed / 10)
        right &= report(f"{run}: norms", worst_of([step["grad_norm"] for step in steps], norms), allowed)
        if settings(saved_config) != settings(config) or sorted(saved) != sorted(weights):
            print(f"{run}: another configuration or other tensors are saved: {saved_config} {sorted(saved)}   FAILED")
            right = False
            continue
        logits = [logits_of(settings(saved_config), each, ids) for each in (saved, trained)]
        right &= report(f"{run}: logits of the saved weights", distance(*logits), 10 * allowed)
        if exact:
            right &= report(f"{run}: saved weights", max(distance(saved[name], trained[name]) for name in saved), allowed)
    return right


if __name__ == "__main__":
    torch.set_num_threads(1)
    command, arguments = sys.argv[1], sys.argv[2:]
    done = {"make": make, "logits": check_logits, "training": check_training}[command](*arguments)
    sys.exit(0 if done else 1)
