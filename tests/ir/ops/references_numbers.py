"""References of operators on number formats: casts, bits, quantized tensors, random numbers."""
import math

import ml_dtypes
import numpy as np

from references_draw import MASK, ML_TYPES, NUMBERS, TYPES, dtype_of, operand_types, t
from references_windows import conv


def cast(a, x):
    """Rounds as ml_dtypes does. Its casts do not saturate to 8-bit floats, and round powers of two to the nearest."""
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
    """With Python's integers, which are unbounded."""
    info = np.iinfo(x.dtype)
    result = np.zeros(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    for at, (v, s) in zip(np.ndindex(result.shape), np.nditer([x, y])):
        v, s = int(v), int(s) if 0 <= int(s) < info.bits else info.bits
        moved = v << s if a["direction"] == "LEFT" else v >> s
        result[at] = (moved - info.min) % (1 << info.bits) + info.min
    return result


def along(v, axis, rank):
    """Shapes a vector so that it broadcasts along an axis; leaves anything else as it is."""
    v = np.asarray(v, np.float64)
    return v.reshape([-1 if d == axis % rank else 1 for d in range(rank)]) if v.ndim == 1 and v.size > 1 else (
        v.reshape(()) if v.size == 1 else v)


def centred(x, zero, axis=0):
    return x.astype(np.float64) - along(0 if zero is None else zero, axis, x.ndim)


def spread(v, x, a):
    """Repeats scales so that each element of x has its own."""
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
    """The bits of the drawn numbers in the operand's own type, read as another type."""
    return np.ascontiguousarray(x.astype(dtype_of(operand_types[0]))).view(dtype_of(TYPES[a["to"]]))


def philox(seed, step, name, count):
    """Philox4x32-10 (Salmon et al. 2011): the words of elements 0 .. count-1."""
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


def random_uniform(a, seed, step=0):
    count = math.prod(a["shape"])
    u = numbers(seed, int(step), a["key"], count)[:count]
    return (a.get("low", 0) + (a.get("high", 1) - a.get("low", 0)) * u).reshape(a["shape"])


def random_normal(a, seed, step=0):
    count = math.prod(a["shape"])
    pairs = numbers(seed, int(step), a["key"], count).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log(1 - pairs[:, 0])), 2 * np.pi * pairs[:, 1]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count]
    return (a.get("mean", 0) + a.get("scale", 1) * z).reshape(a["shape"])
