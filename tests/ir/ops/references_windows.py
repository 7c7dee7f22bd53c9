"""References of operators on spatial dims: windows and resampling, by PyTorch, ONNX's Resize or the definition."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from onnx.reference.ops import op_resize

from references_draw import t


def pads_of(a, x, kernel):
    """Pads at the beginning and the end of each spatial dim."""
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
    """ONNX's definition: every element of x adds a window of weights to y."""
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
    """The largest elements, and their indices in the whole tensor."""
    if not x.is_floating_point():
        y, indices = max_pool_places(a, x.double())
        return [y.to(x.dtype), indices]
    kernel, rank, planes = a["kernel_shape"], x.dim() - 2, x.shape[:2]
    begin, end = pads_of(a, x.shape[2:], kernel)
    function = [F.max_pool1d, F.max_pool2d, F.max_pool3d][rank - 1]
    more = dict(stride=a.get("strides", [1] * rank), dilation=a.get("dilations", [1] * rank), return_indices=True)
    if a.get("ceil_mode"):
        assert begin == end
        y, indices = function(x, kernel, padding=begin, ceil_mode=True, **more)
    else:
        wide = padded(x, begin, end, -math.inf)
        y, indices = function(wide, kernel, **more)
        at = np.unravel_index(indices.numpy(), wide.shape[2:])
        indices = t(np.ravel_multi_index([p - b for p, b in zip(at, begin)], x.shape[2:]))
    if a.get("storage_order"):
        at = np.unravel_index(indices.numpy(), x.shape[2:])
        indices = t(np.ravel_multi_index(at, x.shape[2:], order="F"))
    first = torch.arange(math.prod(planes)).reshape(*planes, *[1] * rank) * math.prod(x.shape[2:])
    return [y, indices + first]


def average_pool(a, x):
    """Window by window, because PyTorch has neither dilation nor uneven pads here."""
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
    """The sum of powers is the average pooling of the padded input, times the number of elements in a window."""
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
    """ONNX's reference in float64 (by default it computes weights in float32). It does not support bool."""
    defaults = {"roi": None, "mode": "nearest", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75,
                "extrapolation_value": 0.0, "exclude_outside": 0, "antialias": 0, "keep_aspect_ratio_policy": "stretch",
                "nearest_mode": "round_prefer_floor"}
    if "axes" in a:
        a["axes"] = [axis % x.ndim for axis in a["axes"]]
    source = x.astype(np.uint8) if x.dtype == bool else x
    return op_resize.Resize._run(None, source, **{**defaults, **a})[0].astype(x.dtype)


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
