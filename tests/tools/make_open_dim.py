#!/usr/bin/env python3
"""Makes open_dim.onnx: a small network whose input has an open dim, `seq`, beside the batch.

    python3 tests/tools/make_open_dim.py

Needs onnx and numpy; the tests need only the file.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = "tests/tools/open_dim.onnx"

weight = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
nodes = [
    helper.make_node("MatMul", ["x", "weight"], ["each"]),
    helper.make_node("ReduceMean", ["each", "axes"], ["logits"], keepdims=0),
]
graph = helper.make_graph(
    nodes, "open_dim",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "seq", 4])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 3])],
    [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(np.array([1]), "axes")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, OUT)
