"""dpc export --init: ONNX's checker takes the file, and ONNX's own evaluator predicts from it what dprun predicts."""

import json
import os
import struct
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DIGITS = os.path.join(ROOT, "examples", "data", "digits")

MODEL = """model m {
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adam(lr=1e-2,ema=0.9)"
  input image: uint8[N,1,8,8]
  parameter conv.weight: float32[6,1,3,3] = kaiming_uniform()
  parameter bn.weight: float32[6] = ones
  parameter bn.bias: float32[6] = zeros
  buffer bn.running_mean: float32[6] = zeros
  buffer bn.running_var: float32[6] = ones
  parameter output.weight: float32[10,216] = kaiming_uniform()
  constant scale: float32[] = 255
  pixels = Cast(image) {to="float32"}
  scaled = Div(pixels, scale)
  h = Conv(scaled, conv.weight)
  n, mean, var = BatchNormalization(h, bn.weight, bn.bias, bn.running_mean, bn.running_var) {training_mode=1}
  a = Relu(n)
  flat = Flatten(a)
  d = Dropout(flat) {ratio=0.25, training_mode=1}
  logits = Gemm(d, output.weight) {transB=1}
  output logits
}
"""


def run(program, *arguments):
    subprocess.run([os.path.join(ROOT, "bazel-bin", "tools", program), *arguments], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def read_safetensors(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


class OnnxTrainedTest(unittest.TestCase):
    def test_the_evaluator_predicts_the_same(self):
        images = os.path.join(DIGITS, "test-images-idx3-ubyte")
        with tempfile.TemporaryDirectory() as folder:
            at = lambda name: os.path.join(folder, name)
            with open(at("m.dpt"), "w", encoding="utf-8") as file:
                file.write(MODEL)
            run("dpc", "compile", at("m.dpt"), "--batch=64", "-o", at("plan.bin"))
            run("dprun", at("plan.bin"), "--shuffle", "--save=" + at("run"),
                "--data", "image=" + os.path.join(DIGITS, "train-images-idx3-ubyte"),
                "--data", "label=" + os.path.join(DIGITS, "train-labels-idx1-ubyte"))
            run("dpc", "export", at("m.dpt"), "--init=" + at("run"), "-o", at("trained.onnx"))
            run("dprun", at("plan.bin"), "--infer", "--init=" + at("run"), "--data", "image=" + images,
                "--output", "logits=" + at("logits.npy"))
            model = onnx.load(at("trained.onnx"))
            predicted = np.load(at("logits.npy"))
            saved = read_safetensors(at("run/step-23/weights.safetensors"))
        onnx.checker.check_model(model)
        initializers = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        weights = [name for name in saved if not name.startswith("dp.")]
        self.assertEqual(len(weights), 6)
        for name in weights:  # the averages where there are any
            np.testing.assert_array_equal(initializers[name], saved.get("dp.ema/" + name, saved[name]))
        with open(images, "rb") as file:
            pictures = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 8, 8)
        (evaluated,) = ReferenceEvaluator(model).run(None, {"image": pictures})
        np.testing.assert_allclose(evaluated, predicted, rtol=1e-5, atol=1e-5)
