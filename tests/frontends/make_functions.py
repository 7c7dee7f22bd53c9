#!/usr/bin/env python3
"""Makes functions/: ONNX's own node tests of operators that are composed of others. Each is a model, with its inputs
and outputs in NAME.safetensors.

    python3 tests/frontends/make_functions.py

Needs onnx, numpy, safetensors and ml_dtypes; the tests need only the files. Inputs that must be known before a network
runs become constants of the model.
"""
import os
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from safetensors.numpy import save_file

FOLDER = os.path.join(os.path.dirname(__file__), "functions")
# For each operator, tests that differ in rule, form or type.
NODE_TESTS = """
    blackmanwindow hammingwindow_symmetric hannwindow melweightmatrix
    causal_conv_with_state_silu_with_past_state causal_conv_with_state_kernel_size_one
    linear_attention_gated_delta_gqa linear_attention_delta linear_attention_gated_per_head_decay
    linear_attention_prefill_with_past linear_attention_fp16
    flexattention_gqa flexattention_score_mod flexattention_prob_mod flexattention_fp16
    mod_float32_mixed_sign_fmod_0 mod_float16_mixed_sign_fmod_0 onehot_with_negative_axis spacetodepth_crd_mode_example
""".split()


def write(name, model, inputs, outputs):
    # Inputs of one or two numbers determine the graph, so they become constants.
    for value, array in list(inputs.items()):
        if array.size <= 2:
            model.graph.input.remove(next(i for i in model.graph.input if i.name == value))
            node = helper.make_node("Constant", [], [value], value=numpy_helper.from_array(array))
            model.graph.node.insert(0, node)
            del inputs[value]
    onnx.save(model, os.path.join(FOLDER, name + ".onnx"))
    tensors = {**{f"in {k}": v for k, v in inputs.items()}, **{f"out {k}": v for k, v in outputs.items()}}
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, os.path.join(FOLDER, name + ".safetensors"))


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = {case.name.removeprefix("test_"): case for case in collect_testcases(None)}
    for name in NODE_TESTS:
        model, (ins, outs) = cases[name].model, cases[name].data_sets[0]
        inputs = dict(zip([i.name for i in model.graph.input], map(np.asarray, ins)))
        write(name, model, inputs, dict(zip([o.name for o in model.graph.output], map(np.asarray, outs))))


def sequence_map():
    """A map over two sequences and a tensor. Its body uses a name of the enclosing graph."""
    info = lambda name, shape=None: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    body = helper.make_graph(
        [helper.make_node("Mul", ["a", "b"], ["ab"]), helper.make_node("Add", ["ab", "c"], ["abc"]),
         helper.make_node("Sub", ["abc", "around"], ["p"]), helper.make_node("Neg", ["a"], ["q"])],
        "body", [info("a"), info("b"), info("c")], [info("p"), info("q")])
    nodes = [helper.make_node("Neg", ["z"], ["around"]),
             helper.make_node("SplitToSequence", ["x"], ["s"], axis=1),
             helper.make_node("SplitToSequence", ["y"], ["t"], axis=1),
             helper.make_node("SequenceMap", ["s", "t", "z"], ["u", "v"], body=body),
             helper.make_node("ConcatFromSequence", ["u"], ["p"], axis=1),
             helper.make_node("ConcatFromSequence", ["v"], ["q"], axis=0)]
    graph = helper.make_graph(nodes, "sequence_map", [info("x", [2, 3]), info("y", [2, 3]), info("z", [2, 2])],
                              [info("p", [2, 6]), info("q", [6, 1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    draw = np.random.default_rng(7)
    inputs = {n: draw.standard_normal(s).astype(np.float32) for n, s in (("x", (2, 3)), ("y", (2, 3)), ("z", (2, 2)))}
    x, y, z = inputs.values()
    outputs = {"p": np.concatenate([x[:, i:i + 1] * y[:, i:i + 1] + z + z for i in range(3)], 1),
               "q": -x.T.reshape(6, 1)}
    write("sequence_map", model, inputs, outputs)


os.makedirs(FOLDER, exist_ok=True)
node_tests()
sequence_map()
