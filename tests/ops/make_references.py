#!/usr/bin/env python3
"""Makes references.txt: what NumPy, PyTorch and ONNX's reference evaluator give for every sample of every operator.

    bazel-bin/tests/ops/list_samples | python3 tests/ops/make_references.py > tests/ops/references.txt

Needs numpy, ml_dtypes, torch and onnx; the tests need only the file. Operands are drawn as in samples.cc, results computed
in float64.
"""
import math
import re
import sys

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import torch
import torch.nn.functional as F
from onnx.reference.ops import op_resize

MASK = (1 << 64) - 1
# ONNX's numbers; those of NumPy's own types and of ml_dtypes'.
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
         11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
         19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0",
         25: "uint2", 26: "int2"}
NUMBERS = {name: number for number, name in TYPES.items()}
ML_TYPES = {"bfloat16": ml_dtypes.bfloat16, "float8e4m3fn": ml_dtypes.float8_e4m3fn,
            "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "float8e5m2": ml_dtypes.float8_e5m2,
            "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "uint4": ml_dtypes.uint4, "int4": ml_dtypes.int4,
            "float4e2m1": ml_dtypes.float4_e2m1fn, "float8e8m0": ml_dtypes.float8_e8m0fnu, "uint2": ml_dtypes.uint2,
            "int2": ml_dtypes.int2}
HALVES = ("float16", "bfloat16")
operand_types = []  # of the sample in hand; most results follow from the operands themselves


def dtype_of(name):
    return np.dtype(ML_TYPES.get(name, name))


# ---- the sample: operands, attributes ------------------------------------------------------------------------------

def split(text):
    """At the commas outside brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        quoted ^= letter == '"'
        if letter == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [p.strip() for p in parts] if text.strip() else []


def extent(text, n):
    match = re.fullmatch(r"(?:(\d+)\*)?N", text)
    return int(match[1] or 1) * n if match else int(text)


def attribute(text, n):
    if text.startswith('"'):
        return text.strip('"')
    if text.startswith("["):
        items = [t.strip() for t in text[1:-1].split(",")] if text != "[]" else []
        if any(re.search(r'["]|[.]\d', t) for t in items):
            return [attribute(t, n) for t in items]
        return [extent(t, n) for t in items]
    if text in NUMBERS:
        return NUMBERS[text]
    return float(text) if re.search(r"[.e]", text) else int(text)


def uniform(seed, count):
    numbers = []
    for i in range(count):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        numbers.append(((z ^ (z >> 31)) >> 11) * 2.0**-53)
    return np.array(numbers, np.float64)


def draw(heading, operand, dtype, extents, low, high):
    seed = 0xCBF29CE484222325
    for byte in f"{heading}|{operand}".encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    u = uniform(seed, math.prod(extents)).reshape(extents)
    if dtype not in ("float32", "float64") + HALVES:
        x = math.ceil(low) + np.floor(u * (math.floor(high) - math.ceil(low) + 1))
        if dtype in ML_TYPES:  # rounded; computed with as float64
            return x.astype(np.float32).astype(dtype_of(dtype)).astype(np.float64)
        return x.astype(dtype)
    x = (low + (high - low) * u).astype(np.float32)
    return (x.astype(dtype_of(dtype)) if dtype in HALVES else x).astype(np.float64)


def t(x):
    return torch.from_numpy(np.array(x))


# ---- ONNX's own reference evaluator ---------------------------------------------------------------------------------

def by_onnx(op, n_outputs=1, opset=25, operands=()):
    """What ONNX's evaluator gives. operands: name -> place and type of what is an attribute here and an operand there."""
    def run(a, *x):
        a, x = dict(a), list(x)
        for name, (place, dtype) in dict(operands).items():
            if name in a:
                x += [None] * (place + 1 - len(x))
                x[place] = np.array(a.pop(name), dtype)
        names = [f"x{i}" if value is not None else "" for i, value in enumerate(x)]
        outputs = [f"y{i}" for i in range(n_outputs)]
        node = onnx.helper.make_node(op, names, outputs, **a)
        info = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None)
        graph = onnx.helper.make_graph([node], "g", [info(m) for m in names if m], [info(o) for o in outputs])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
        feeds = {name: value for name, value in zip(names, x) if name}
        return [np.asarray(y) for y in onnx.reference.ReferenceEvaluator(model).run(None, feeds)]
    return run


# ---- windows -------------------------------------------------------------------------------------------------------

def pads_of(a, x, kernel):
    """Pads at the begin and the end of each spatial dim."""
    rank = len(kernel)
    stride, dilation = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    auto = a.get("auto_pad", "NOTSET")
    if not auto.startswith("SAME"):
        pads = a.get("pads", [0] * 2 * rank)
        return pads[:rank], pads[rank:]
    total = [max((math.ceil(x[i] / stride[i]) - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - x[i], 0)
             for i in range(rank)]
    less, more = [p // 2 for p in total], [p - p // 2 for p in total]
    return (less, more) if auto == "SAME_UPPER" else (more, less)


def padded(x, begin, end, value):
    widths = []
    for b, e in reversed(list(zip(begin, end))):
        widths += [b, e]
    return F.pad(x, widths, value=value)


def conv(a, x, w, b=None):
    rank = w.dim() - 2
    begin, end = pads_of(a, x.shape[2:], w.shape[2:])
    function = [F.conv1d, F.conv2d, F.conv3d][rank - 1]
    return function(padded(x, begin, end, 0), w, b, stride=a.get("strides", [1] * rank),
                    dilation=a.get("dilations", [1] * rank), groups=a.get("group", 1))


def conv_transpose(a, x, w, b=None):
    """ONNX's definition: every element of x puts a window of weights into y."""
    rank, groups = x.dim() - 2, a.get("group", 1)
    stride, dilation = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][rank - 1]
    full = function(x, w, stride=stride, dilation=dilation, groups=groups)
    more = a.get("output_padding", [0] * rank)
    begin, end = a.get("pads", [0] * 2 * rank)[:rank], a.get("pads", [0] * 2 * rank)[rank:]
    if "output_shape" in a or "auto_pad" in a:
        shape = a.get("output_shape", [x.shape[2 + i] * stride[i] for i in range(rank)])
        total = [full.shape[2 + i] + more[i] - shape[i] for i in range(rank)]
        more = [m + max(-t_, 0) for m, t_ in zip(more, total)]
        total = [max(t_, 0) for t_ in total]
        less, rest = [t_ // 2 for t_ in total], [t_ - t_ // 2 for t_ in total]
        begin, end = (less, rest) if a.get("auto_pad") == "SAME_UPPER" else (rest, less)
    y = padded(full, [-b_ for b_ in begin], [m - e for m, e in zip(more, end)], 0)
    return y if b is None else y + b.reshape([-1] + [1] * rank)


def max_pool(a, x):
    return max_pool_places(a, x)[0]


def max_pool_places(a, x):
    """The largest elements, and their places in the whole tensor."""
    if not x.is_floating_point():
        y, places = max_pool_places(a, x.double())
        return [y.to(x.dtype), places]
    kernel, rank, planes = a["kernel_shape"], x.dim() - 2, x.shape[:2]
    begin, end = pads_of(a, x.shape[2:], kernel)
    function = [F.max_pool1d, F.max_pool2d, F.max_pool3d][rank - 1]
    more = dict(stride=a.get("strides", [1] * rank), dilation=a.get("dilations", [1] * rank), return_indices=True)
    if a.get("ceil_mode"):
        assert begin == end
        y, places = function(x, kernel, padding=begin, ceil_mode=True, **more)
    else:
        wide = padded(x, begin, end, -math.inf)
        y, places = function(wide, kernel, **more)
        at = np.unravel_index(places.numpy(), wide.shape[2:])
        places = t(np.ravel_multi_index([p - b for p, b in zip(at, begin)], x.shape[2:]))
    if a.get("storage_order"):
        at = np.unravel_index(places.numpy(), x.shape[2:])
        places = t(np.ravel_multi_index(at, x.shape[2:], order="F"))
    first = torch.arange(math.prod(planes)).reshape(*planes, *[1] * rank) * math.prod(x.shape[2:])
    return [y, places + first]


def average_pool(a, x):
    """Window by window: PyTorch has neither dilation nor uneven pads here."""
    kernel, rank = a["kernel_shape"], x.dim() - 2
    stride, dilation = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    begin, end = pads_of(a, x.shape[2:], kernel)
    room = [x.shape[2 + i] + begin[i] + end[i] - ((kernel[i] - 1) * dilation[i] + 1) for i in range(rank)]
    out = [r // s + 1 for r, s in zip(room, stride)]
    if a.get("ceil_mode"):
        reach = [x.shape[2 + i] + begin[i] for i in range(rank)]
        out = [o + (r % s > 0 and o * s < e) for o, r, s, e in zip(out, room, stride, reach)]
    result = []
    for window in np.ndindex(*out):
        total, count = 0, 0
        for tap in np.ndindex(*kernel):
            at = [w * s + t_ * d - b for w, s, t_, d, b in zip(window, stride, tap, dilation, begin)]
            inside = all(0 <= p < x.shape[2 + i] for i, p in enumerate(at))
            in_padding = all(-begin[i] <= p < x.shape[2 + i] + end[i] for i, p in enumerate(at))
            count += inside or (in_padding and a.get("count_include_pad", 0))
            if inside:
                total = total + x[(slice(None), slice(None), *at)]
        result.append(total / count)
    return torch.stack(result, -1).reshape(*x.shape[:2], *out)


def lp_pool(a, x):
    """The sum of powers is what average pooling gives when nothing but real places are counted, times their number."""
    kernel, p = a["kernel_shape"], a.get("p", 2)
    begin, end = pads_of(a, x.shape[2:], kernel)
    wide = padded(t(abs(x) ** p), begin, [e + 8 for e in end] if a.get("ceil_mode") else end, 0)
    full = average_pool({n: v for n, v in a.items() if n in ("kernel_shape", "strides", "dilations")}, wide)
    if a.get("ceil_mode"):
        stride = a.get("strides", [1] * len(kernel))
        out = [-(-(x.shape[2 + i] + begin[i] + end[i] - k) // stride[i]) + 1 for i, k in enumerate(kernel)]
        full = full[(slice(None), slice(None), *(slice(o) for o in out))]
    return (full * math.prod(kernel)) ** (1 / p)


def lrn(a, x):
    before, sums = (a["size"] - 1) // 2, np.zeros_like(x)
    for c in range(x.shape[1]):
        sums[:, c] = (x[:, max(c - before, 0):c - before + a["size"]] ** 2).sum(1)
    mean = a.get("alpha", 1e-4) / a["size"] * sums
    return x / (a.get("bias", 1) + mean) ** a.get("beta", 0.75)


def resize(a, x):
    """ONNX's reference, called with numbers of float64: by itself it weighs in float32. It knows no bools."""
    defaults = {"roi": None, "mode": "nearest", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75,
                "extrapolation_value": 0.0, "exclude_outside": 0, "antialias": 0, "keep_aspect_ratio_policy": "stretch",
                "nearest_mode": "round_prefer_floor"}
    if "axes" in a:
        a["axes"] = [axis % x.ndim for axis in a["axes"]]
    source = x.astype(np.uint8) if x.dtype == bool else x
    return op_resize.Resize._run(None, source, **{**defaults, **a})[0].astype(x.dtype)


# ---- recurrent layers, from ONNX's formulas --------------------------------------------------------------------------

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


def grid_sample(a, x, grid):
    mode = a.get("mode", "linear")
    return F.grid_sample(x, grid, {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode),
                         a.get("padding_mode", "zeros"), bool(a.get("align_corners", 0)))


def zeros(a):
    return torch.zeros(a["shape"], dtype=torch.float64)


def backward(function, x, dy):
    x = x.clone().requires_grad_()
    function(x).backward(dy)
    return x.grad


# ---- other rules ---------------------------------------------------------------------------------------------------

def reduction(a, x, function):
    axes = tuple(a.get("axes", ())) or (() if a.get("noop_with_empty_axes") else tuple(range(x.ndim)))
    return function(x, axis=axes, keepdims=bool(a.get("keepdims", 1))) if axes else x


def arg_max(a, x):
    axis, last = a.get("axis", 0), a.get("select_last_index", 0)
    index = x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis) if last else np.argmax(x, axis)
    return np.expand_dims(index, axis) if a.get("keepdims", 1) else index


def reshape(a, x):
    shape = a["shape"]
    if not a.get("allowzero"):
        shape = [x.shape[i] if e == 0 else e for i, e in enumerate(shape)]
    return x.reshape(shape)


def flatten(a, x):
    axis = a.get("axis", 1) % x.ndim if a.get("axis", 1) < 0 else a.get("axis", 1)
    return x.reshape(math.prod(x.shape[:axis]), -1)


def gemm(a, x, w, c=0.0):
    x, w = x.T if a.get("transA") else x, w.T if a.get("transB") else w
    return (a.get("alpha", 1) * (x @ w) + a.get("beta", 1) * c).astype(x.dtype)


def batch_norm(a, x, scale, bias, mean, var):
    epsilon, momentum = a.get("epsilon", 1e-5), a.get("momentum", 0.9)
    args = t(mean), t(var), t(scale), t(bias)
    if not a.get("training_mode"):
        return [F.batch_norm(t(x), *args, False, 0, epsilon)]
    y = F.batch_norm(t(x), *args, True, 1 - momentum, epsilon)  # updates its copies of mean and var, unbiased
    axes = tuple(d for d in range(x.ndim) if d != 1)
    biased = momentum * var + (1 - momentum) * x.var(axis=axes)
    running_var = args[1] if a.get("unbiased") else biased
    return [y, args[0], running_var, x.mean(axis=axes), 1 / np.sqrt(x.var(axis=axes) + epsilon)]


def batch_norm_grad(x, scale, mean, invstd, dy):
    axes = tuple(d for d in range(x.ndim) if d != 1)
    wide = lambda v: v.reshape([1, -1] + [1] * (x.ndim - 2))
    h, n = (x - wide(mean)) * wide(invstd), x.size / x.shape[1]
    dbias, dscale = dy.sum(axis=axes), (dy * h).sum(axis=axes)
    return [wide(scale * invstd) * (dy - wide(dbias) / n - h * wide(dscale) / n), dscale, dbias]


def groups_of(a, x):
    """The rows of each group."""
    unit, groups = a.get("unit", 1), a["groups"]
    n = x.shape[0] // unit
    return [slice(g * n // groups * unit, (g + 1) * n // groups * unit) for g in range(groups)]


def grouped_batch_norm(a, x, scale, bias):
    epsilon, axes = a.get("epsilon", 1e-5), tuple(d for d in range(x.ndim) if d != 1)
    y, mean, var = np.zeros_like(x), np.zeros((a["groups"], x.shape[1])), np.zeros((a["groups"], x.shape[1]))
    first = None
    for g, rows in enumerate(groups_of(a, x)):
        if rows.start == rows.stop:
            continue
        y[rows] = F.batch_norm(t(x[rows]), None, None, t(scale), t(bias), True, 0, epsilon).numpy()
        mean[g], var[g] = x[rows].mean(axis=axes), x[rows].var(axis=axes)
        if first is None:
            first = [mean[g], x[rows].var(axis=axes, ddof=a.get("unbiased", 0))]
    return [y, mean, 1 / np.sqrt(var + epsilon)] + first


def grouped_batch_norm_grad(a, x, scale, mean, invstd, dy):
    parts = [batch_norm_grad(x[rows], scale, mean[g], invstd[g], dy[rows]) for g, rows in enumerate(groups_of(a, x))
             if rows.start < rows.stop]
    return [np.concatenate([p[0] for p in parts]), sum(p[1] for p in parts), sum(p[2] for p in parts)]


def inner_norm(a, x, scale, bias=None):
    dims = x.shape[a.get("axis", -1) % x.ndim:]
    axes = tuple(range(x.ndim - len(dims), x.ndim))
    epsilon = a.get("epsilon", 1e-5)
    y = F.layer_norm(t(x), dims, t(scale), None if bias is None else t(bias), epsilon)
    return [y, x.mean(axis=axes, keepdims=True), 1 / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)]


def rms_norm(a, x, scale):
    return F.rms_norm(t(x), x.shape[a.get("axis", -1) % x.ndim:], t(scale), a.get("epsilon", 1e-5))


def instance_norm(a, x, scale, bias):
    return F.instance_norm(t(x), weight=t(scale), bias=t(bias), eps=a.get("epsilon", 1e-5))


def gather(a, x, indices):
    return np.take(x, indices, axis=a.get("axis", 0))


def gather_back(a, dy, indices):
    axis = a.get("axis", 0)
    rows = t(indices % a["shape"][axis]).reshape(-1).long()
    return backward(lambda x: torch.index_select(x, axis, rows).reshape(dy.shape), zeros(a), t(dy))


def split_parts(a, x):
    axis, extent = a.get("axis", 0), x.shape[a.get("axis", 0)]
    if "split" in a:
        return np.split(x, np.cumsum(a["split"])[:-1], axis)
    if "num_outputs" in a:
        size = math.ceil(extent / a["num_outputs"])
        return np.split(x, [min(size * i, extent) for i in range(1, a["num_outputs"])], axis)
    return np.split(x, max(p for p in range(1, 9) if extent % p == 0), axis)  # as many results as can be


def slices(a, rank):
    at = [slice(None)] * rank
    starts = a["starts"]
    for i, axis in enumerate(a.get("axes", range(len(starts)))):
        end, step = a["ends"][i], a.get("steps", [1] * len(starts))[i]
        at[axis] = slice(starts[i], None if end < -(1 << 31) else end, step)
    return tuple(at)


def slice_back(a, dy):
    dx = np.zeros(a["shape"])
    dx[slices(a, dx.ndim)] = dy
    return dx


def cross_entropy(a, scores, labels, weights=None):
    return F.cross_entropy(scores, t(labels).long(), None if weights is None else t(weights),
                           ignore_index=a.get("ignore_index", -100), reduction=a.get("reduction", "mean"))


def sgd(a, w, m, g, lr, step=None):
    parameter = torch.nn.Parameter(t(w))
    options = {name: a.get(name, 0) for name in ("momentum", "dampening", "weight_decay")}
    optimizer = torch.optim.SGD([parameter], lr=float(lr), nesterov=bool(a.get("nesterov", 0)), **options)
    if m is not None and (step is None or step > 0):
        optimizer.state[parameter]["momentum_buffer"] = t(m)
    parameter.grad = t(g)
    optimizer.step()
    return [parameter.detach()] + ([] if m is None else [optimizer.state[parameter]["momentum_buffer"]])


def adam(a, w, m, v, g, lr, step):
    parameter = torch.nn.Parameter(t(w))
    kind = torch.optim.AdamW if a.get("decoupled") else torch.optim.Adam
    optimizer = kind([parameter], lr=float(lr), betas=(a.get("beta1", 0.9), a.get("beta2", 0.999)),
                     eps=a.get("eps", 1e-8), weight_decay=a.get("weight_decay", 0))
    state = {"step": torch.tensor(float(step)), "exp_avg": t(m), "exp_avg_sq": t(v)}
    optimizer.state[parameter] = state
    parameter.grad = t(g)
    optimizer.step()
    return [parameter.detach(), state["exp_avg"], state["exp_avg_sq"]]


def philox(seed, step, name, count):
    """Philox4x32-10 (Salmon et al. 2011), the words of elements 0 .. count-1."""
    words = []
    for block in range((count + 3) // 4):
        c = [step, name, block & 0xFFFFFFFF, block >> 32]
        k = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    return np.array(words, np.uint64)


def numbers(seed, step, name, count):
    return (philox(int(seed) & MASK, int(step), name, count) >> np.uint64(8)).astype(np.float64) * 2.0**-24


def dropout(a, x, seed, step):
    u, ratio = numbers(seed, step, a["key"], x.size)[:x.size].reshape(x.shape), a.get("ratio", 0.5)
    return np.where(u >= ratio, x / (1 - ratio), 0)


def random_uniform(a, seed):
    count = math.prod(a["shape"])
    u = numbers(seed, 0, a["key"], count)[:count]
    return (a.get("low", 0) + (a.get("high", 1) - a.get("low", 0)) * u).reshape(a["shape"])


def random_normal(a, seed):
    count = math.prod(a["shape"])
    pairs = numbers(seed, 0, a["key"], count).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log(1 - pairs[:, 0])), 2 * np.pi * pairs[:, 1]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count]
    return (a.get("mean", 0) + a.get("scale", 1) * z).reshape(a["shape"])


def fill(a):
    dtype = a.get("dtype", 1)
    return np.full(a["shape"], a.get("value", 0), "float64").astype("float64" if dtype == 1 else dtype_of(TYPES[dtype]))


def cast(a, x):
    """With ml_dtypes' rounding. Its casts to floats of 8 bits do not saturate, those to a power of two go to the nearest."""
    name = TYPES[a["to"]]
    if name == "float32":
        return x.astype(np.float64)
    if name.startswith("float8e") and name != "float8e8m0" and a.get("saturate", 1):
        most = float(ml_dtypes.finfo(dtype_of(name)).max)
        x = np.clip(x.astype(np.float64), -most, most)
    if name == "float8e8m0" and a.get("round_mode", "up") != "nearest":
        exponent = np.log2(x)
        x = 2.0 ** (np.floor(exponent) if a.get("round_mode") == "down" else np.ceil(exponent))
    if dtype_of(name).itemsize == 1 and name in ML_TYPES:
        x = x.astype(np.float32)
    return x.astype(dtype_of(name))


def bit_shift(a, x, y):
    """By Python's integers, which have no last bit."""
    info = np.iinfo(x.dtype)
    result = np.zeros(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    for at, (v, s) in zip(np.ndindex(result.shape), np.nditer([x, y])):
        v, s = int(v), int(s) if 0 <= int(s) < info.bits else info.bits
        moved = v << s if a["direction"] == "LEFT" else v >> s
        result[at] = (moved - info.min) % (1 << info.bits) + info.min
    return result


def along(v, axis, rank):
    """A vector along an axis, anything else as it is."""
    v = np.asarray(v, np.float64)
    return v.reshape([-1 if d == axis % rank else 1 for d in range(rank)]) if v.ndim == 1 and v.size > 1 else (
        v.reshape(()) if v.size == 1 else v)


def centred(x, zero, axis=0):
    return x.astype(np.float64) - along(0 if zero is None else zero, axis, x.ndim)


def spread(v, x, a):
    """Scales of each element of x."""
    axis = a.get("axis", 1)
    if a.get("block_size"):
        return np.take(np.asarray(v, np.float64), np.arange(x.shape[axis]) // a["block_size"], axis)
    return along(v, axis, x.ndim)


def held(v, name):
    info = ml_dtypes.iinfo(dtype_of(name))
    return np.clip(v, int(info.min), int(info.max)).astype(np.int64).astype(dtype_of(name))


def quantize(a, x, scale, zero=None):
    name = TYPES[a["output_dtype"]] if a.get("output_dtype") else operand_types[2] if zero is not None else "uint8"
    z = 0 if zero is None else spread(zero, x, a)
    v = x / spread(scale, x, a)
    if "float" in name:
        return cast({"to": NUMBERS[name], "saturate": a.get("saturate", 1)}, v + z)
    return held(np.rint(v) + z, name)


def dequantize(a, x, scale, zero=None):
    return (x - (0 if zero is None else spread(zero, x, a))) * spread(scale, x, a)


def dynamic_quantize(a, x):
    most, least = max(x.max(), 0), min(x.min(), 0)
    scale = (most - least) / 255
    zero = held(np.rint(-least / scale), "uint8")
    return [held(np.rint(x / scale) + zero, "uint8"), np.array(scale), zero]


def q_linear_mat_mul(a, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero):
    sums = np.matmul(centred(x, x_zero, -2), centred(w, w_zero, -1))
    rank = sums.ndim
    scale = along(x_scale, -2, rank) * along(w_scale, -1, rank) / along(y_scale, -2, rank)
    return held(np.rint(sums * scale) + along(y_zero, -2, rank), operand_types[-1])


def q_linear_conv(a, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    sums = conv(a, t(centred(x, x_zero)), t(centred(w, w_zero, 0)), None if bias is None else t(bias).double()).numpy()
    scale = along(x_scale, 0, x.ndim) * along(w_scale, 1, x.ndim) / along(y_scale, 0, x.ndim)
    return held(np.rint(sums * scale) + along(y_zero, 0, x.ndim), operand_types[7])


def bit_cast(a, x):
    """The drawn numbers in the operand's own type, looked at as another."""
    return np.ascontiguousarray(x.astype(dtype_of(operand_types[0]))).view(dtype_of(TYPES[a["to"]]))


def cum_sum(a, x):
    axis = a["axis"]
    y = np.flip(x, axis) if a.get("reverse") else x
    y = np.cumsum(y, axis, dtype=x.dtype) - (y if a.get("exclusive") else 0)
    return np.flip(y, axis) if a.get("reverse") else y


def one_hot(a, indices, _, values):
    depth, axis = a["depth"], a.get("axis", -1)
    hot = np.expand_dims(indices.astype(np.int64), -1) % depth == np.arange(depth)
    hot &= np.expand_dims((indices >= -depth) & (indices < depth), -1)
    return np.moveaxis(np.where(hot, values[1], values[0]), -1, axis)


def top_k(a, x):
    axis = a.get("axis", -1)
    keys = -x.astype(np.float64) if a.get("largest", 1) else x
    indices = np.take(np.argsort(keys, axis, kind="stable"), range(a["K"]), axis)
    return [np.take_along_axis(x, indices, axis), indices]


def pad(a, x):
    axes = [axis % x.ndim for axis in a.get("axes", range(x.ndim))]
    at, widths = [slice(None)] * x.ndim, [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        begin, end = a["pads"][i], a["pads"][i + len(axes)]
        at[axis] = slice(max(-begin, 0), x.shape[axis] - max(-end, 0))
        widths[axis] = max(begin, 0), max(end, 0)
    mode = a.get("mode", "constant")
    more = {"constant_values": a.get("constant_value", 0)} if mode == "constant" else {}
    return np.pad(x[tuple(at)], widths, mode, **more)


def scatter_elements(a, x, indices, updates):
    axis, y = a.get("axis", 0) % x.ndim, np.array(x)
    combine = {"none": lambda old, new: new, "add": np.add, "mul": np.multiply, "max": max, "min": min}
    for place in np.ndindex(*indices.shape):
        at = place[:axis] + (indices[place],) + place[axis + 1:]
        y[at] = combine[a.get("reduction", "none")](y[at], updates[place])
    return y


def depth_to_space(a, x):
    """Element by element, from the definition."""
    n, c, h, w = x.shape
    s, channels = a["blocksize"], c // a["blocksize"] ** 2
    y = np.zeros((n, channels, h * s, w * s), x.dtype)
    for c_, i, j in np.ndindex(channels, h * s, w * s):
        by, bx = i % s, j % s
        depth = (by * s + bx) * channels + c_ if a.get("mode", "DCR") == "DCR" else (c_ * s + by) * s + bx
        y[:, c_, i, j] = x[:, depth, i // s, j // s]
    return y


def space_to_depth(a, x):
    n, c, h, w = x.shape
    s = a["blocksize"]
    y = np.zeros((n, c * s * s, h // s, w // s), x.dtype)
    for c_, i, j in np.ndindex(c, h, w):
        y[:, (i % s * s + j % s) * c + c_, i // s, j // s] = x[:, c_, i, j]
    return y


def selu(a, x):
    """With ONNX's constants, which are float32's."""
    alpha, gamma = a.get("alpha", 1.67326319217681884765625), a.get("gamma", 1.05070102214813232421875)
    return gamma * np.where(x < 0, alpha * np.expm1(x), x)


def shrink(a, x):
    lambd, bias = a.get("lambd", 0.5), a.get("bias", 0)
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def divide(a, x, y):
    return x / y if x.dtype == np.float64 else np.trunc(x / y).astype(x.dtype)


OPS = {
    "Add": lambda a, x, y: x + y,
    "Sub": lambda a, x, y: x - y,
    "Mul": lambda a, x, y: x * y,
    "Div": divide,
    "Max": lambda a, x, y: np.maximum(x, y),
    "Equal": lambda a, x, y: x == y,
    "Min": lambda a, x, y: np.minimum(x, y),
    "Mod": lambda a, x, y: np.fmod(x, y) if a.get("fmod") else np.mod(x, y),
    "Pow": lambda a, x, y: np.power(x, y).astype(x.dtype),
    "PRelu": lambda a, x, s: np.where(x < 0, s * x, x),
    "Less": lambda a, x, y: x < y,
    "LessOrEqual": lambda a, x, y: x <= y,
    "Greater": lambda a, x, y: x > y,
    "GreaterOrEqual": lambda a, x, y: x >= y,
    "And": lambda a, x, y: x & y,
    "Or": lambda a, x, y: x | y,
    "Xor": lambda a, x, y: x ^ y,
    "Not": lambda a, x: ~x,
    "IsNaN": lambda a, x: np.isnan(x),
    "IsInf": lambda a, x: np.isinf(x),
    "Neg": lambda a, x: -x,
    "Abs": lambda a, x: np.abs(x),
    "Sign": lambda a, x: np.sign(x),
    "Reciprocal": lambda a, x: 1 / x,
    "Floor": lambda a, x: np.floor(x),
    "Ceil": lambda a, x: np.ceil(x),
    "Round": lambda a, x: np.rint(x),
    "Erf": lambda a, x: torch.erf(t(x)),
    "Sin": lambda a, x: np.sin(x),
    "Cos": lambda a, x: np.cos(x),
    "Tan": lambda a, x: np.tan(x),
    "Asin": lambda a, x: np.arcsin(x),
    "Acos": lambda a, x: np.arccos(x),
    "Atan": lambda a, x: np.arctan(x),
    "Sinh": lambda a, x: np.sinh(x),
    "Cosh": lambda a, x: np.cosh(x),
    "Asinh": lambda a, x: np.arcsinh(x),
    "Acosh": lambda a, x: np.arccosh(x),
    "Atanh": lambda a, x: np.arctanh(x),
    "Softplus": lambda a, x: F.softplus(t(x)),
    "Softsign": lambda a, x: F.softsign(t(x)),
    "HardSwish": lambda a, x: F.hardswish(t(x)),
    "Mish": lambda a, x: F.mish(t(x)),
    "Elu": lambda a, x: F.elu(t(x), a.get("alpha", 1)),
    "Selu": selu,
    "Celu": lambda a, x: F.celu(t(x), a.get("alpha", 1)),
    "LeakyRelu": lambda a, x: F.leaky_relu(t(x), a.get("alpha", 0.01)),
    "ThresholdedRelu": lambda a, x: np.where(x > a.get("alpha", 1), x, 0),
    "HardSigmoid": lambda a, x: np.clip(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1),
    "Shrink": shrink,
    "Swish": lambda a, x: x / (1 + np.exp(-a.get("alpha", 1) * x)),
    "Gelu": lambda a, x: F.gelu(t(x), approximate=a.get("approximate", "none")),
    "Clip": lambda a, x: np.clip(x, a.get("min", -np.inf), a.get("max", np.inf)).astype(x.dtype),
    "Sqrt": lambda a, x: np.sqrt(x),
    "Exp": lambda a, x: np.exp(x),
    "Log": lambda a, x: np.log(x),
    "Tanh": lambda a, x: np.tanh(x),
    "Sigmoid": lambda a, x: torch.sigmoid(t(x)),
    "Relu": lambda a, x: np.maximum(x, 0),
    "dp.ReluGrad": lambda a, dy, y: np.where(y > 0, dy, 0),
    "Identity": lambda a, x: x,
    "Cast": cast,
    "BitCast": bit_cast,
    "BitwiseAnd": lambda a, x, y: x & y,
    "BitwiseOr": lambda a, x, y: x | y,
    "BitwiseXor": lambda a, x, y: x ^ y,
    "BitwiseNot": lambda a, x: ~x,
    "BitShift": bit_shift,
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": lambda a, x, w, zx=0, zw=0: np.matmul(centred(x, zx, -2), centred(w, zw, -1)).astype(np.int32),
    "QLinearMatMul": q_linear_mat_mul,
    "ConvInteger": lambda a, x, w, zx=0, zw=0: conv(a, t(centred(x, zx)), t(centred(w, zw, 0))).numpy().astype(np.int32),
    "QLinearConv": q_linear_conv,
    "ReduceSum": lambda a, x: reduction(a, x, np.sum).astype(x.dtype),
    "ReduceMean": lambda a, x: reduction(a, x, np.mean).astype(x.dtype),
    "ReduceMax": lambda a, x: reduction(a, x, np.max),
    "ReduceMin": lambda a, x: reduction(a, x, np.min),
    "ReduceProd": lambda a, x: reduction(a, x, np.prod).astype(x.dtype),
    "ReduceL1": lambda a, x: reduction(a, np.abs(x), np.sum).astype(x.dtype),
    "ReduceL2": lambda a, x: np.sqrt(reduction(a, x * x, np.sum)),
    "ReduceSumSquare": lambda a, x: reduction(a, x * x, np.sum).astype(x.dtype),
    "ReduceLogSum": lambda a, x: np.log(reduction(a, x, np.sum)),
    "ReduceLogSumExp": lambda a, x: np.log(reduction(a, np.exp(x), np.sum)),
    "ArgMax": arg_max,
    "ArgMin": lambda a, x: arg_max(a, -x.astype(np.float64)),
    "CumSum": cum_sum,
    "OneHot": one_hot,
    "TopK": top_k,
    "Tile": lambda a, x: np.tile(x, a["repeats"]),
    "Pad": pad,
    "GatherElements": lambda a, x, i: np.take_along_axis(
        np.array(x)[tuple(slice(e) if d != a.get("axis", 0) % x.ndim else slice(None) for d, e in enumerate(i.shape))],
        i % x.shape[a.get("axis", 0)], a.get("axis", 0)),
    "ScatterElements": scatter_elements,
    "Reshape": reshape,
    "Flatten": flatten,
    "Transpose": lambda a, x: x.transpose(a.get("perm")),
    "Expand": lambda a, x: np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, a["shape"]))),
    "Gemm": gemm,
    "MatMul": lambda a, x, w: np.matmul(x, w),
    "Softmax": lambda a, x: F.softmax(t(x), a.get("axis", -1)),
    "LogSoftmax": lambda a, x: F.log_softmax(t(x), a.get("axis", -1)),
    "Conv": lambda a, *x: conv(a, *map(t, x)),
    "ConvTranspose": lambda a, *x: conv_transpose(a, *map(t, x)),
    "dp.ConvGradInput": lambda a, w, dy: backward(lambda x: conv(a, x, t(w)), zeros(a), t(dy)),
    "dp.ConvGradWeight": lambda a, x, dy: backward(lambda w: conv(a, t(x), w), zeros(a), t(dy)),
    "MaxPool": lambda a, x: max_pool_places(a, t(x)),
    "dp.MaxPoolGrad": lambda a, x, dy: backward(lambda v: max_pool(a, v), t(x), t(dy)),
    "AveragePool": lambda a, x: average_pool(a, t(x)),
    "dp.AveragePoolGrad": lambda a, dy: backward(lambda v: average_pool(a, v), zeros(a), t(dy)),
    "GlobalAveragePool": lambda a, x: x.mean(axis=tuple(range(2, x.ndim)), keepdims=True),
    "BatchNormalization": batch_norm,
    "dp.BatchNormalizationGrad": lambda a, *x: batch_norm_grad(*x),
    "dp.GroupedBatchNormalization": grouped_batch_norm,
    "dp.GroupedBatchNormalizationGrad": grouped_batch_norm_grad,
    "SoftmaxCrossEntropyLoss": lambda a, s, l, w=None: [cross_entropy(a, t(s), l, w), F.log_softmax(t(s), 1)],
    "dp.SoftmaxCrossEntropyLossGrad":
        lambda a, s, l, d, w=None: backward(lambda v: cross_entropy(a, v, l, w), t(s), t(d)),
    "LayerNormalization": inner_norm,
    "RMSNormalization": rms_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization":
        lambda a, x, s, b: F.group_norm(t(x), a["num_groups"], t(s), t(b), a.get("epsilon", 1e-5)),
    "Gather": gather,
    "dp.GatherGrad": gather_back,
    "Concat": lambda a, *x: np.concatenate(x, a["axis"]),
    "Split": split_parts,
    "Slice": lambda a, x: x[slices(a, x.ndim)],
    "dp.SliceGrad": slice_back,
    "Squeeze": lambda a, x: np.squeeze(x, tuple(a["axes"]) if "axes" in a else None),
    "Unsqueeze": lambda a, x: np.expand_dims(x, tuple(a["axes"])),
    "Where": lambda a, c, x, y: np.where(c, x, y),
    "Trilu": lambda a, x: (np.triu if a.get("upper", 1) else np.tril)(x, a.get("k", 0)),
    "Sum": lambda a, *x: sum(x),
    "Mean": lambda a, *x: sum(x) / len(x),
    "GlobalMaxPool": lambda a, x: x.max(axis=tuple(range(2, x.ndim)), keepdims=True),
    "LpNormalization": lambda a, x: F.normalize(t(x), p=a.get("p", 2), dim=a.get("axis", -1)),
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Shape": lambda a, x: np.array(x.shape[a.get("start", 0):a.get("end")], np.int64),
    "Size": lambda a, x: np.array(x.size, np.int64),
    "Attention": by_onnx("Attention", 4),
    "RotaryEmbedding": by_onnx("RotaryEmbedding", 1, 24),
    "NegativeLogLikelihoodLoss": lambda a, x, l, w=None: F.nll_loss(
        t(x), t(l).long(), None if w is None else t(w), reduction=a.get("reduction", "mean"),
        ignore_index=a.get("ignore_index", -100)),
    "Hardmax": by_onnx("Hardmax"),
    "MeanVarianceNormalization": lambda a, x: (x - x.mean(tuple(a.get("axes", (0, 2, 3))), keepdims=True)) / (
        x.std(tuple(a.get("axes", (0, 2, 3))), keepdims=True) + 1e-9),
    "LRN": lrn,
    "LpPool": lp_pool,
    "GlobalLpPool": lambda a, x: np.linalg.norm(x.reshape(*x.shape[:2], -1), a.get("p", 2), 2).reshape(
        *x.shape[:2], *[1] * (x.ndim - 2)),
    "ReverseSequence": by_onnx("ReverseSequence"),
    "CumProd": by_onnx("CumProd", 1, 26, {"axis": (1, np.int64)}),
    "SwiGLU": lambda a, x, y: F.silu(t(x) * a.get("alpha", 1)) / a.get("alpha", 1) * t(y),
    "GatherND": by_onnx("GatherND"),
    "ScatterND": by_onnx("ScatterND"),
    "Einsum": lambda a, *x: np.einsum(a["equation"], *x),
    "Resize": resize,
    "Upsample": lambda a, x: resize({**a, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, x),
    "LSTM": recurrent(lstm_step, ["Sigmoid", "Tanh", "Tanh"], 2),
    "GRU": recurrent(gru_step, ["Sigmoid", "Tanh"], 1),
    "RNN": recurrent(rnn_step, ["Tanh"], 1),
    "GridSample": lambda a, x, g: grid_sample(a, t(x), t(g)),
    "AffineGrid": lambda a, x: F.affine_grid(t(x), a["size"], align_corners=bool(a.get("align_corners", 0))),
    "CenterCropPad": by_onnx("CenterCropPad", 1, 18, {"shape": (1, np.int64)}),
    "Compress": lambda a, x: np.compress(a["condition"], x, a.get("axis")),
    "Col2Im": by_onnx("Col2Im", 1, 18, {"image_shape": (1, np.int64), "block_shape": (2, np.int64)}),
    "EyeLike": lambda a, x: np.eye(*x.shape, a.get("k", 0), TYPES[a["dtype"]] if "dtype" in a else x.dtype),
    "TensorScatter": by_onnx("TensorScatter", 1, 24),
    "DFT": by_onnx("DFT", 1, 20, {"dft_length": (1, np.int64), "axis": (2, np.int64)}),
    "MaxUnpool": by_onnx("MaxUnpool", 1, 22, {"output_shape": (2, np.int64)}),
    "dp.SGD": sgd,
    "dp.Adam": adam,
    "dp.Dropout": dropout,
    "dp.RandomUniform": random_uniform,
    "dp.RandomNormal": random_normal,
    "dp.Fill": fill,
}


def main():
    for heading in sys.stdin.read().splitlines():
        op, inputs, attrs, n, low, high = heading.split("|")
        if op == "Dropout":  # in no program
            continue
        n, low, high, operands, has_float64, half = int(n), float(low), float(high), [], False, None
        for i, text in enumerate(split(inputs)):
            if not text:
                operands.append(None)
                continue
            dtype, dims = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
            has_float64 |= dtype == "float64"
            half = dtype if dtype in HALVES else half
            operands.append(draw(heading, i, dtype, [extent(e, n) for e in split(dims)], low, high))
        a = {}
        operand_types[:] = [text.split("[")[0] for text in split(inputs)]
        for text in split(attrs):
            name, value = text.split("=")
            a[name] = attribute(value, n)
        made = TYPES.get(a.get("dtype", a.get("to", a.get("output_dtype"))))
        has_float64 |= made == "float64"
        half = made if made in HALVES else half
        with np.errstate(over="ignore"):
            results = OPS[op](a, *operands)
        print("=", heading)
        for result in results if isinstance(results, list) else [results]:
            array = result.detach().numpy() if isinstance(result, torch.Tensor) else np.asarray(result)
            names = [name for name, dtype in ML_TYPES.items() if dtype == array.dtype] or [str(array.dtype)]
            dtype = names[0]
            if dtype == "float64" and not has_float64:
                dtype = half or "float32"
            is_float = array.dtype == np.float64 or "float" in dtype
            texts = [f"{float(v):.16g}" if is_float else str(int(v)) for v in array.reshape(-1)]
            print(dtype, *array.shape, ":", *texts)


main()
