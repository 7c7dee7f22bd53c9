"""References of recurrent layers, from ONNX's formulas."""
import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name -> what it takes, function of x and these
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
    """The functions of all directions, clip included."""
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
    """Each sample of the batch on its own."""
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
