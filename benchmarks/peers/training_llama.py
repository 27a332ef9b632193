"""The LLaMA and Mixtral models of training_torch.py, with the names of Hugging Face's weights. Norms and rotations have derivatives
by hand: PyTorch 1.13 has no kernels for them, and these read memory less often than its own derivatives."""

import torch
import torch.nn.functional as functional


class RmsNorm(torch.autograd.Function):
    """y = x / sqrt(mean(x^2) + eps) * w over the last dim; x and w in f32, y in `dtype`."""

    @staticmethod
    def forward(context, x, weight, epsilon, dtype):
        scale = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        normed = x * scale
        context.save_for_backward(normed, scale, weight)
        return (normed * weight).to(dtype)

    @staticmethod
    def backward(context, gradient):
        normed, scale, weight = context.saved_tensors
        gradient = gradient.float()
        weight_gradient = (gradient * normed).sum(tuple(range(gradient.dim() - 1)))
        gradient = gradient * weight
        along = (gradient * normed).mean(-1, keepdim=True)
        return gradient.addcmul_(normed, along, value=-1).mul_(scale), weight_gradient, None, None


class Rotation(torch.autograd.Function):
    """Turns the pairs (x[i], x[i + H/2]) of the last dim by the angles of each position."""

    @staticmethod
    def forward(context, x, cosine, sine):
        context.save_for_backward(cosine, sine)
        return turned(x, cosine, sine, 1)

    @staticmethod
    def backward(context, gradient):
        return turned(gradient, *context.saved_tensors, -1), None, None


def turned(x, cosine, sine, sign):
    """x [.., T, H]; cosine [T, H], the same for both halves; sine [T, H/2]."""
    half = x.shape[-1] // 2
    y = x * cosine
    y[..., :half].addcmul_(x[..., half:], sine, value=-sign)
    y[..., half:].addcmul_(x[..., :half], sine, value=sign)
    return y


def linear(inputs, outputs):
    return torch.nn.Linear(inputs, outputs, bias=False)


class Norm(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(config["hidden_size"]))
        self.epsilon = config["rms_norm_eps"]

    def forward(self, x):
        dtype = torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else x.dtype
        return RmsNorm.apply(x, self.weight, self.epsilon, dtype)


class Attention(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        width, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (linear(width, width) for _ in range(4))

    def forward(self, x, positions):
        B, T, D = x.shape
        H = D // self.heads
        cosine, sine, mask = positions.of(x.dtype)
        q, k, v = (f(x).view(B, T, self.heads, H).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        q, k = Rotation.apply(q, cosine, sine), Rotation.apply(k, cosine, sine)
        q, k, v = (a.reshape(B * self.heads, T, H) for a in (q, k, v))
        scores = torch.baddbmm(mask.expand(B * self.heads, T, T), q, k.transpose(1, 2), alpha=H**-0.5)
        o = torch.bmm(scores.softmax(-1), v).view(B, self.heads, T, H)
        return self.o_proj(o.transpose(1, 2).reshape(B, T, D))


class Mlp(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj, self.up_proj, self.down_proj = linear(width, inner), linear(width, inner), linear(inner, width)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Expert(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.w1, self.w2, self.w3 = linear(width, inner), linear(inner, width), linear(width, inner)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Experts(torch.nn.Module):
    """A loop over the experts, each with the tokens that chose it, as in Hugging Face's block of Mixtral. An expert
    without tokens is called too, so that every parameter has a gradient."""

    def __init__(self, config):
        super().__init__()
        self.count, self.chosen = config["num_local_experts"], config["num_experts_per_tok"]
        self.gate = linear(config["hidden_size"], self.count)
        self.experts = torch.nn.ModuleList(Expert(config) for _ in range(self.count))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weights, choices = functional.softmax(self.gate(tokens), dim=1, dtype=torch.float32).topk(self.chosen, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        y = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, place = torch.where(choices == number)
            y.index_add_(0, token, expert(tokens.index_select(0, token)) * weights[token, place, None])
        return y.view_as(x)


class Layer(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(config), Attention(config)
        self.post_attention_layernorm = Norm(config)
        self.inner = "block_sparse_moe" if "num_local_experts" in config else "mlp"
        setattr(self, self.inner, Experts(config) if "num_local_experts" in config else Mlp(config))

    def forward(self, x, positions):
        x = x + self.self_attn(self.input_layernorm(x), positions)
        return x + getattr(self, self.inner)(self.post_attention_layernorm(x))


class Positions:
    """Cosines, sines and the causal mask, made once for each element type."""

    def __init__(self, config, sequence):
        half = config["hidden_size"] // config["num_attention_heads"] // 2
        frequencies = config["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(sequence, dtype=torch.float64)[:, None] * frequencies
        mask = torch.full((sequence, sequence), float("-inf")).triu(1)
        whole = (torch.cat((angles, angles), -1).cos(), angles.sin(), mask)
        self.made = {dtype: tuple(a.to(dtype) for a in whole) for dtype in (torch.float32, torch.bfloat16)}

    def of(self, dtype):
        return self.made[dtype]


class Body(torch.nn.Module):
    def __init__(self, config, sequence):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = torch.nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = Norm(config)
        self.positions = Positions(config, sequence)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, self.positions)
        return self.norm(x)


class Llama(torch.nn.Module):
    """As many key heads as query heads, an output projection of its own. forward() gives the mean loss in nats."""

    def __init__(self, config, sequence):
        super().__init__()
        self.model = Body(config, sequence)
        self.lm_head = linear(config["hidden_size"], config["vocab_size"])

    def forward(self, ids, labels):
        logits = self.lm_head(self.model(ids)).float()
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
