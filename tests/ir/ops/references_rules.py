"""References of operators that take more than a line, with NumPy and PyTorch."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from references_draw import TYPES, dtype_of, t
from references_windows import backward, zeros


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
    y = F.batch_norm(t(x), *args, True, 1 - momentum, epsilon)  # updates mean and var, with unbiased variances
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


def batch_norm_relu_grad(x, scale, bias, mean, invstd, dy):
    wide = lambda v: v.reshape([1, -1] + [1] * (x.ndim - 2))
    y = np.maximum((x - wide(mean)) * wide(scale * invstd) + wide(bias), 0)
    return [*batch_norm_grad(x, scale, mean, invstd, np.where(y <= 0, 0, dy)), y]


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


def inner_norm_grad(a, x, scale, dy):
    x, scale, bias = [t(v).requires_grad_() for v in (x, scale, np.zeros_like(scale))]
    F.layer_norm(x, scale.shape, scale, bias, a.get("epsilon", 1e-5)).backward(t(dy))
    return [x.grad, scale.grad, bias.grad]


def rms_norm_grad(a, x, scale, dy):
    x, scale = [t(v).requires_grad_() for v in (x, scale)]
    F.rms_norm(x, scale.shape, scale, a.get("epsilon", 1e-5)).backward(t(dy))
    return [x.grad, scale.grad]


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
    return np.split(x, max(p for p in range(1, 9) if extent % p == 0), axis)  # the most equal parts, up to 8


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


def refused(a, x):
    if "limit" not in a:
        return x == 0
    limit = a["limit"][0]
    return ((x >= limit) | (x < (-limit if a.get("negative") else 0))) & (x != a.get("other", limit - 1))


def sgd(a, w, m, g, lr, step=None, scale=None, skip=0):
    if skip != 0:
        return [t(w)] + ([] if m is None else [t(m)])
    parameter = torch.nn.Parameter(t(w))
    options = {name: a.get(name, 0) for name in ("momentum", "dampening", "weight_decay")}
    optimizer = torch.optim.SGD([parameter], lr=float(lr), nesterov=bool(a.get("nesterov", 0)), **options)
    if m is not None and (step is None or step > 0):
        optimizer.state[parameter]["momentum_buffer"] = t(m)
    parameter.grad = t(g) if scale is None else t(g) * t(scale)
    optimizer.step()
    return [parameter.detach()] + ([] if m is None else [optimizer.state[parameter]["momentum_buffer"]])


def adam(a, w, m, v, g, lr, step, scale=None, skip=0):
    if skip != 0:
        return [t(w), t(m), t(v)]
    parameter = torch.nn.Parameter(t(w))
    kind = torch.optim.AdamW if a.get("decoupled") else torch.optim.Adam
    optimizer = kind([parameter], lr=float(lr), betas=(a.get("beta1", 0.9), a.get("beta2", 0.999)),
                     eps=a.get("eps", 1e-8), weight_decay=a.get("weight_decay", 0))
    state = {"step": torch.tensor(float(step)), "exp_avg": t(m), "exp_avg_sq": t(v)}
    optimizer.state[parameter] = state
    parameter.grad = t(g) if scale is None else t(g) * t(scale)
    optimizer.step()
    return [parameter.detach(), state["exp_avg"], state["exp_avg_sq"]]


def fill(a):
    dtype = a.get("dtype", 1)
    return np.full(a["shape"], a.get("value", 0), "float64").astype("float64" if dtype == 1 else dtype_of(TYPES[dtype]))


def arange(a):
    dtype = a.get("dtype", 7)
    limit, = a["limit"]
    numbers = np.arange(a.get("start", 0), limit, a.get("delta", 1))
    return numbers.astype("float64" if dtype == 1 else dtype_of(TYPES[dtype]))


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
    """Computed element by element, from the definition."""
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
        by, bx = i % s, j % s
        depth = (by * s + bx) * c + c_ if a.get("mode", "DCR") == "DCR" else (c_ * s + by) * s + bx
        y[:, depth, i // s, j // s] = x[:, c_, i, j]
    return y


def selu(a, x):
    """With ONNX's constants, which are float32 values."""
    alpha, gamma = a.get("alpha", 1.67326319217681884765625), a.get("gamma", 1.05070102214813232421875)
    return gamma * np.where(x < 0, alpha * np.expm1(x), x)


def shrink(a, x):
    lambd, bias = a.get("lambd", 0.5), a.get("bias", 0)
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def divide(a, x, y):
    return x / y if x.dtype == np.float64 else np.trunc(x / y).astype(x.dtype)
