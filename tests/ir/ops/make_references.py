#!/usr/bin/env python3
"""Makes references.txt: what NumPy, PyTorch and ONNX's reference evaluator give for every sample of every operator.

    bazel-bin/tests/ir/ops/list_samples | python3 tests/ir/ops/make_references.py > tests/ir/ops/references.txt

Needs numpy, ml_dtypes, torch and onnx; the tests need only the file. Operands are drawn as in samples.cc
(references_draw.py), and results are computed in float64. References longer than a line are in the other modules.
"""
import re
import sys

import numpy as np
import onnx
import onnx.reference
import torch
import torch.nn.functional as F

from references_attention import attention, attention_grad
from references_draw import HALVES, ML_TYPES, TYPES, attribute, draw, extent, operand_types, split, t
from references_numbers import (bit_cast, bit_shift, cast, centred, dequantize, dropout, dynamic_quantize,
                                q_linear_conv, q_linear_mat_mul, quantize, random_normal, random_uniform)
from references_recurrent import causal_conv, gru_step, linear_attention, lstm_step, recurrent, rnn_step
from references_rules import (adam, arange, arg_max, batch_norm, batch_norm_grad, batch_norm_relu_grad, cross_entropy,
                              cum_sum, depth_to_space, divide, fill, flatten, gather, gather_back, gemm,
                              grouped_batch_norm, grouped_batch_norm_grad, inner_norm, inner_norm_grad, instance_norm, one_hot,
                              pad, reduction, refused, reshape, rms_norm, rms_norm_grad, scatter_elements, selu, sgd, shrink,
                              slice_back, slices, space_to_depth, split_parts, top_k)
from references_windows import (average_pool, backward, conv, conv_transpose, grid_sample, lp_pool, lrn, max_pool,
                                max_pool_places, resize, zeros)


def by_onnx(op, n_outputs=1, opset=25, operands=()):
    """What ONNX's evaluator gives. operands: name -> position and type of an ONNX operand that is an attribute here."""
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
    "dp.BatchNormalizationReluGrad": lambda a, *x: batch_norm_relu_grad(*x),
    "dp.GroupedBatchNormalization": grouped_batch_norm,
    "dp.GroupedBatchNormalizationGrad": grouped_batch_norm_grad,
    "SoftmaxCrossEntropyLoss": lambda a, s, l, w=None: [cross_entropy(a, t(s), l, w), F.log_softmax(t(s), 1)],
    "dp.SoftmaxCrossEntropyLossGrad":
        lambda a, s, l, d, w=None: backward(lambda v: cross_entropy(a, v, l, w), t(s), t(d)),
    "LayerNormalization": inner_norm,
    "RMSNormalization": rms_norm,
    "dp.LayerNormalizationGrad": inner_norm_grad,
    "dp.RMSNormalizationGrad": rms_norm_grad,
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
    "CausalConvWithState": causal_conv,
    "LinearAttention": linear_attention,
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
    "dp.Assign": lambda a, w, x, skip=0: w if skip != 0 else x,
    "dp.CountRefused": lambda a, x, n=None: np.sum(refused(a, x), dtype=np.int64),
    "dp.Dropout": dropout,
    "dp.ScaledDotProductAttention": attention,
    "dp.ScaledDotProductAttentionGrad": attention_grad,
    "dp.RandomUniform": random_uniform,
    "dp.RandomNormal": random_normal,
    "dp.Fill": fill,
    "Range": arange,
}


# Results 0 and, of some, Relu's have operand 0's type, the others that of parameters and statistics.
NORMS = ("BatchNormalization", "dp.BatchNormalizationGrad", "dp.BatchNormalizationReluGrad",
         "dp.GroupedBatchNormalization", "dp.GroupedBatchNormalizationGrad")
DRAWN = ("Dropout", "Bernoulli", "RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike")


def main():
    for heading in sys.stdin.read().splitlines():
        op, inputs, attrs, n, low, high = heading.split("|")
        if op in DRAWN:  # programs do not contain it, and its numbers depend on the node's name
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
        for k, result in enumerate(results if isinstance(results, list) else [results]):
            array = result.detach().numpy() if isinstance(result, torch.Tensor) else np.asarray(result)
            names = [name for name, dtype in ML_TYPES.items() if dtype == array.dtype] or [str(array.dtype)]
            dtype = names[0]
            if dtype == "float64" and not has_float64:
                dtype = operand_types[k > 0 and (op, k) != ("dp.BatchNormalizationReluGrad", 3)] if op in NORMS else half or "float32"
            is_float = array.dtype == np.float64 or "float" in dtype
            texts = [f"{float(v):.16g}" if is_float else str(int(v)) for v in array.reshape(-1)]
            print(dtype, *array.shape, ":", *texts)


main()
