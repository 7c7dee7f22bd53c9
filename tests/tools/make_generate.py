"""Makes generate.txt and generate.safetensors: texts that --generate must write, by NumPy and PyTorch. Needs
PyTorch, NumPy and xxhash.

    python3 tests/tools/make_generate.py tests/tools
"""
import json
import math
import struct
import sys

import numpy
import torch
import xxhash
from torch.nn import functional

folder = sys.argv[1]
out = open(f"{folder}/generate.txt", "w")


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def uniform(seed, at):
    """53 bits of the block of this draw."""
    name = xxhash.xxh3_64_intdigest(b"dp.generate") & 0xFFFFFFFF
    words = philox([0, name, at & 0xFFFFFFFF, at >> 32], [seed & 0xFFFFFFFF, seed >> 32])
    return ((words[0] >> 5) * 2 ** 26 + (words[1] >> 6)) / 2 ** 53


def probabilities(scores, temperature, top_k):
    """Those of all tokens; of equal scores, lower tokens come first."""
    order = numpy.argsort(-scores, kind="stable")[:top_k or None]
    p = numpy.zeros(len(scores))
    p[order] = numpy.exp((scores[order] - scores.max()) / temperature)
    return p / p.sum(), order


def draw(scores, temperature, top_k, seed, at):
    if temperature == 0:
        return int(scores.argmax())
    p, order = probabilities(scores, temperature, top_k)
    return int(order[numpy.searchsorted(numpy.cumsum(p[order]), uniform(seed, at), side="right")])


def line(*words):
    print(*words, file=out)


# A table of the scores of the token after each token: what a text looks like is known exactly.
rng = numpy.random.default_rng(4)
V = 6
table = rng.normal(size=(V, V)).round(2) * 2
table[2, 4] = table[2, 1] = table[2].max() + 0.5  # equal scores
table[5, 0] = -math.inf
line("table", *("-inf" if math.isinf(x) else x for x in table.flatten().tolist()))
for temperature, top_k in ((1, 0), (0.5, 0), (2.5, 3), (1, 1), (1, 2), (0, 0), (0, 3), (1, 99)):
    for row in range(V):
        if temperature:
            line("row", temperature, top_k, row, *probabilities(table[row], temperature, top_k)[0].tolist())
    for seed in (0, 7, 2 ** 63 + 11):
        token, text = 3, []
        for at in range(60):
            token = draw(table[token], temperature, top_k, seed, at)
            text.append(token)
        line("text", temperature, top_k, seed, *text)

# A transformer, by PyTorch in float64; its window is shorter than what is generated.
D, H, T, V = 16, 2, 8, 20
torch.manual_seed(3)
w = {name: torch.randn(*shape, dtype=torch.float64).float().double() * scale for name, shape, scale in (
    ("wte", (V, D), 1), ("wpe", (T, D), 1), ("qkv", (D, 3 * D), 0.4), ("o", (D, D), 0.4), ("head", (D, V), 0.7))}


def scores_of(tokens):
    h = w["wte"][tokens] + w["wpe"][:len(tokens)]
    q, k, v = (x.view(len(tokens), H, D // H).transpose(0, 1)
               for x in (functional.layer_norm(h, (D,)) @ w["qkv"]).split(D, 1))
    a = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1).reshape(len(tokens), D)
    return (functional.layer_norm(h + a @ w["o"], (D,)) @ w["head"])[-1]


for prompt in ([3, 14, 15], [9] * 8, list(range(12))):
    for temperature in (0, 1.2):
        text, tokens = [], list(prompt)
        for at in range(40):
            scores = scores_of(tokens[-T:])
            if temperature == 0:  # the highest score is so by far, whatever the rounding
                best = scores.topk(2).values
                assert best[0] - best[1] > 2e-3, (prompt, at)
            token = draw(scores.numpy(), temperature, 0, 5, at)
            tokens.append(token)
            text.append(token)
        line("transformer", temperature, len(prompt), *prompt, *text)

header, at = {}, 0
for name, tensor in w.items():
    header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + 4 * tensor.numel()]}
    at += 4 * tensor.numel()
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(f"{folder}/generate.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for tensor in w.values():
        file.write(tensor.float().numpy().astype("<f4").tobytes())
