"""Samples: element types, attributes, and operands drawn as in samples.cc."""
import math
import re

import ml_dtypes
import numpy as np
import torch

MASK = (1 << 64) - 1
# ONNX's numbers of the types, then ml_dtypes' names of those that NumPy lacks.
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
operand_types = []  # of the current sample; for the few results that depend on more than the operands


def dtype_of(name):
    return np.dtype(ML_TYPES.get(name, name))


def split(text):
    """Splits at commas outside brackets and quotes."""
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
    match = re.fullmatch(r"(?:(-?\d+)\*)?N([+-]\d+)?", text)
    return int(match[1] or 1) * n + int(match[2] or 0) if match else int(text)


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
