"""What ONNX's own tests do not cover in dpc.onnx_backend: names, open extents, cached programs, exceptions."""

import os
import re
import tempfile
import textwrap
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from dpc import _library, onnx_backend


def make_model(nodes, inputs, outputs, initializers=(), opset=18):
    values = [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name, rank in outputs]
    graph = helper.make_graph(nodes, "g", values, results, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def floats(*numbers):
    return np.array(numbers, np.float32)


DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")


class OnnxBackendTest(unittest.TestCase):
    def test_the_documented_lines(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            blocks = re.findall(r"(?:^    .*\n|^\n)+", file.read(), re.MULTILINE)
        code = textwrap.dedent(next(block for block in blocks if "import dpc.onnx_backend" in block))
        model = make_model([helper.make_node("Neg", ["image"], ["scores"])], [("image", TensorProto.FLOAT, [3])],
                           [("scores", 1)])
        names = {"image": floats(1, 2, 3)}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                onnx.save(model, "model.onnx")
                exec(code, names)  # the lines of docs/python.md, as they stand there
            finally:
                os.chdir(before)
        np.testing.assert_array_equal(names["scores"], floats(-1, -2, -3))
        np.testing.assert_array_equal(names["c"], np.full(3, 2.0))

    def test_inputs_by_order_and_by_name(self):
        model = make_model([helper.make_node("Sub", ["a", "b"], ["y"])],
                           [("a", TensorProto.FLOAT, [2]), ("b", TensorProto.FLOAT, [2])], [("y", 1)])
        rep = onnx_backend.prepare(model)
        np.testing.assert_array_equal(rep.run([floats(5, 6), floats(1, 2)]).y, floats(4, 4))
        np.testing.assert_array_equal(rep.run({"b": floats(5, 6), "a": floats(1, 2)})["y"], floats(-4, -4))
        np.testing.assert_array_equal(onnx_backend.run_model(model, [floats(5, 6), floats(1, 2)])[0], floats(4, 4))

    def test_what_does_not_fit_is_refused(self):
        model = make_model([helper.make_node("Neg", ["x"], ["y"])], [("x", TensorProto.FLOAT, [2])],
                           [("y", 1)])
        rep = onnx_backend.prepare(model)
        for inputs in ([floats(1, 2, 3)], [np.array([1, 2])], [], [floats(1, 2)] * 2, {"z": floats(1, 2)}):
            with self.assertRaises(ValueError):
                rep.run(inputs)
        np.testing.assert_array_equal(rep.run([floats(1, 2)])[0], floats(-1, -2))

    def test_open_extents_come_with_the_inputs(self):
        model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, ["n", "k"])],
                           [("y", 2)],
                           [onnx.numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")])
        rep = onnx_backend.prepare(model)
        for n in (1, 4, 0, 1):
            x = np.ones((n, 3), np.float32)
            np.testing.assert_array_equal(rep.run([x])[0], np.tile(floats(6, 9), (n, 1)))

    def test_programs_are_kept_by_what_they_were_made_for(self):
        model = make_model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
                           [("x", TensorProto.FLOAT, [12]), ("shape", TensorProto.INT64, [2])], [("y", 2)])
        rep = onnx_backend.prepare(model)
        x = np.arange(12, dtype=np.float32)
        shapes = [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1), (-1, 1), (-1, 2), (-1, 3), (-1, 4)]
        for shape in shapes + shapes:
            np.testing.assert_array_equal(rep.run([x, np.array(shape)])[0], x.reshape(shape))
        self.assertEqual(len(rep._programs), onnx_backend.KEPT_PROGRAMS)

    def test_what_is_not_supported(self):
        unique = make_model([helper.make_node("Unique", ["x"], ["y"])], [("x", TensorProto.FLOAT, [2])],
                            [("y", 1)])
        self.assertFalse(onnx_backend.is_compatible(unique))
        with self.assertRaises(onnx_backend.Unsupported) as raised:
            onnx_backend.prepare(unique)
        self.assertIn("Unique", str(raised.exception))
        self.assertTrue(onnx_backend.supports_device("CPU"))
        for device in ("CUDA:63", "TPU", "CPU:1", "CUDA:0,0"):  # tests have no 64 GPUs
            self.assertFalse(onnx_backend.supports_device(device))
            with self.assertRaises(onnx_backend.Unsupported) as raised:
                onnx_backend.prepare(unique, device)
            self.assertIn(device, str(raised.exception))

    def test_an_illegal_model_is_not_called_unsupported(self):
        model = make_model([helper.make_node("MatMul", ["x", "x"], ["y"])], [("x", TensorProto.FLOAT, [2, 3])],
                           [("y", 2)])
        with self.assertRaises(_library.Error) as raised:
            onnx_backend.prepare(model)
        self.assertEqual(raised.exception.code, _library.EX_DATAERR)

    def test_one_node(self):
        node = helper.make_node("Add", ["a", "b"], ["c"])
        for opset in (7, 14):
            np.testing.assert_array_equal(
                onnx_backend.run_node(node, [floats(1, 2), floats(3)], opset_version=opset)[0], floats(4, 5))
        np.testing.assert_array_equal(onnx_backend.run_node(node, [floats(1), floats(3)])[0], floats(4))

    def test_operators_of_operators(self):
        """ONNX defines them as functions of other operators. Attributes have their defaults (periodic, float32)."""
        y = onnx_backend.run_node(helper.make_node("HannWindow", ["n"], ["y"]), [np.array(10)], opset_version=17)[0]
        np.testing.assert_allclose(y, 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(10) / 10), 1e-5, 1e-6)


if __name__ == "__main__":
    unittest.main()
