"""References of operators that process sequences, from ONNX's formulas."""
import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name -> its parameters, a function of x and these
ACTIVATIONS = {
    "tanh": ("", np.tanh), "sigmoid": ("", sigmoid), "relu": ("", lambda x: np.maximum(x, 0)),
    "softsign": ("", lambda x: x / (1 + abs(x))),
    "leakyrelu": ("a", lambda x, a: np.where(x < 0, a * x, x)),
    "elu": ("a", lambda x, a: np.where(x < 0, a * np.expm1(x), x)),
    "hardsigmoid": ("ab", lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "scaledtanh": ("ab", lambda x, a, b: a * np.tanh(b * x)),
    "affine": ("ab", lambda x, a, b: a * x + b),
}


def activations(a, usual):
    """The activations of all directions, including clipping."""
    alphas, betas, functions = list(a.get("activation_alpha", ())), list(a.get("activation_beta", ())), []
    bound = a.get("clip", math.inf)
    for name in a.get("activations", usual):
        takes, function = ACTIVATIONS[name.lower()]
        numbers = [(alphas if letter == "a" else betas).pop(0) for letter in takes]
        functions.append(lambda x, f=function, n=numbers: f(np.clip(x, -bound, bound), *n))
    return functions


def lstm_step(a, f, x, h, c, w, r, b, p):
    gates = w @ x + r @ h + b[:len(b) // 2] + b[len(b) // 2:]
    (i, o, forget, new), (pi, po, pf) = np.split(gates, 4), np.split(p, 3)
    i = f[0](i + pi * c)
    forget = 1 - i if a.get("input_forget") else f[0](forget + pf * c)
    c = forget * c + i * f[1](new)
    return f[0](o + po * c) * f[2](c), c


def gru_step(a, f, x, h, c, w, r, b, p):
    (wz, wr, wh), (rz, rr, rh) = np.split(w, 3), np.split(r, 3)
    bwz, bwr, bwh, brz, brr, brh = np.split(b, 6)
    z, reset = f[0](wz @ x + rz @ h + bwz + brz), f[0](wr @ x + rr @ h + bwr + brr)
    past = reset * (rh @ h + brh) if a.get("linear_before_reset") else rh @ (reset * h) + brh
    return (1 - z) * f[1](wh @ x + past + bwh) + z * h, c


def rnn_step(a, f, x, h, c, w, r, b, p):
    return f[0](w @ x + r @ h + b[:len(b) // 2] + b[len(b) // 2:]), c


def recurrent(step, usual, states):
    """Computes each sample of the batch by itself."""
    def run(a, x, w, r, b=None, lengths=None, h0=None, c0=None, p=None):
        swap = lambda v: v if v is None or not a.get("layout") else np.swapaxes(v, 0, 1)
        x, h0, c0 = swap(x), swap(h0), swap(c0)
        (length, batch, _), (directions, wide, hidden) = x.shape, r.shape
        zero = np.zeros((directions, batch, hidden))
        h0, c0 = zero if h0 is None else h0, zero if c0 is None else c0
        b = np.zeros((directions, 2 * wide)) if b is None else b
        p = np.zeros((directions, 3 * hidden)) if p is None else p
        lengths = np.full(batch, length) if lengths is None else lengths
        functions = activations(a, usual * directions)
        y, hs, cs = np.zeros((length, directions, batch, hidden)), np.array(h0), np.array(c0)
        for d, n in np.ndindex(directions, batch):
            f = functions[d * len(usual):(d + 1) * len(usual)]
            times = range(lengths[n])
            for t_ in reversed(times) if d or a.get("direction") == "reverse" else times:
                hs[d, n], cs[d, n] = step(a, f, x[t_, n], hs[d, n], cs[d, n], w[d], r[d], b[d], p[d])
                y[t_, d, n] = hs[d, n]
        y = y.transpose(2, 0, 1, 3) if a.get("layout") else y
        return [y, swap(hs), swap(cs)][:1 + states]
    return run


def linear_attention(a, query, key, value, past=None, decay=None, beta=None):
    """By head, position and element, with the recurrence in the operator's description."""
    (batch, length, width), heads, q_heads = query.shape, a["kv_num_heads"], a["q_num_heads"]
    d_k, d_v = width // q_heads, value.shape[2] // heads
    scale = a.get("scale", 0) or 1 / math.sqrt(d_k)
    output, states = np.zeros((batch, length, q_heads * d_v)), np.zeros((batch, heads, d_k, d_v))
    for b in range(batch):
        for h in range(heads):
            state = np.zeros((d_k, d_v)) if past is None else past[b, h].copy()
            for t in range(length):
                k, v = key[b, t].reshape(heads, d_k)[h], value[b, t].reshape(heads, d_v)[h]
                if decay is not None:
                    state *= np.exp(decay[b, t].reshape(heads, -1)[h])[:, None]
                if beta is not None:
                    v = beta[b, t][h if beta.shape[2] > 1 else 0] * (v - state.T @ k)
                state += np.outer(k, v)
                for q in range(h * q_heads // heads, (h + 1) * q_heads // heads):
                    output[b, t, q * d_v:(q + 1) * d_v] = scale * state.T @ query[b, t, q * d_k:(q + 1) * d_k]
            states[b, h] = state
    return [output, states]


def causal_conv(a, x, w, bias=None, past=None):
    batch, channels, length = x.shape
    before = w.shape[2] - 1
    padded = np.concatenate([np.zeros((batch, channels, before)) if past is None else past, x], 2)
    y = sum(padded[:, :, i:i + length] * w[:, 0, i][:, None] for i in range(before + 1))
    y = y if bias is None else y + bias[:, None]
    return [y if a.get("activation", "none") == "none" else y * sigmoid(y), padded[:, :, length:]]
