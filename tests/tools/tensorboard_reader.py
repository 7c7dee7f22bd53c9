#!/usr/bin/env python3
"""What dprun --tensorboard writes, read by TensorBoard's own reader: the curves of --metrics, histograms of the saved
weights, the options, and what is left of a run that was cut off and went on.

    tensorboard_reader.py --tools=bazel-bin/tools

The last line is "count PASSED FAILED SKIPPED"."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

DIGITS = "examples/data/digits/"
DATA = [f"--data=image={DIGITS}train-images-idx3-ubyte", f"--data=label={DIGITS}train-labels-idx1-ubyte"]
EVAL = [f"--eval-data=image={DIGITS}test-images-idx3-ubyte", f"--eval-data=label={DIGITS}test-labels-idx1-ubyte"]
ALL = {"scalars": 0, "histograms": 0, "tensors": 0}  # keep every point; TensorBoard's default is a sample

tools = None


def run(tool, *arguments):
    subprocess.run([f"{tools}/{tool}", *arguments], check=True, stdout=subprocess.DEVNULL)


def read(folder):
    reader = EventAccumulator(folder, ALL)
    reader.Reload()
    return reader


def json_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def safetensors(path):
    """The tensors of a file by name; all of them are float32."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = file.read()
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(content[slice(*entry["data_offsets"])], "<f4") for name, entry in header.items()}


class Reader(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        run("dpc", "compile", "examples/digits_cnn.dpt", "--batch=64", "--metrics=accuracy,top5,gradients", "-o",
            self.file("plan.bin"))

    def file(self, name):
        return os.path.join(self.folder, name)

    def train(self, *arguments):
        run("dprun", self.file("plan.bin"), *DATA, f"--tensorboard={self.file('tb')}", "--quiet", *arguments)

    def test_curves(self):
        """Every number of every line of --metrics is a point, at the same step, and there are no others."""
        self.train(*EVAL, "--epochs=2", "--shuffle", f"--metrics={self.file('metrics')}")
        reader = read(self.file("tb"))
        expected = {}
        for line in json_lines(self.file("metrics")):
            of = {"step": "train", "eval": "eval"}.get(line["event"])
            for name in ("loss", "accuracy", "top5", "perplexity"):
                if of and name in line:
                    expected.setdefault(f"{of}/{name}", []).append((line["step"], line[name]))
        self.assertEqual({len(curve) for tag, curve in expected.items() if tag.startswith("eval")}, {2})
        for tag, curve in expected.items():
            points = reader.Scalars(tag)
            self.assertEqual([point.step for point in points], [step for step, _ in curve], tag)
            numpy.testing.assert_allclose([point.value for point in points], [value for _, value in curve], 1e-6)
            times = [point.wall_time for point in points]
            self.assertEqual(times, sorted(times), tag)
        others = {"train/learning_rate", "train/samples_per_second"}
        self.assertEqual(set(reader.Tags()["scalars"]), set(expected) | others)
        for tag in others:
            self.assertEqual(len(reader.Scalars(tag)), len(expected["train/loss"]), tag)

    def test_options(self):
        """The text of the command is where TensorBoard's tab of texts looks for it."""
        self.train("--steps=1")
        reader = read(self.file("tb"))
        self.assertEqual(reader.SummaryMetadata("options/text_summary").plugin_data.plugin_name, "text")
        (text,) = reader.Tensors("options/text_summary")[0].tensor_proto.string_val
        self.assertIn("--steps=1", text.decode())

    def test_histograms(self):
        """Those of parameters count the weights that were saved; each parameter has one of its gradient too."""
        self.train("--epochs=2", "--histograms", f"--save={self.file('w.safetensors')}")
        reader = read(self.file("tb"))
        weights = {name: tensor for name, tensor in safetensors(self.file("w.safetensors")).items()
                   if ".running_" not in name}  # buffers of BatchNormalization
        self.assertEqual(set(reader.Tags()["histograms"]),
                         {f"{of}/{name}" for of in ("parameters", "gradients") for name in weights})
        for name, weight in weights.items():
            epochs = reader.Histograms(f"parameters/{name}")
            self.assertEqual(len(epochs), 2)
            last = epochs[-1].histogram_value
            self.assertEqual((last.min, last.max, last.num), (weight.min(), weight.max(), weight.size))
            exact = weight.astype(numpy.float64)
            numpy.testing.assert_allclose([last.sum, last.sum_squares], [exact.sum(), (exact**2).sum()], 1e-9, 1e-9)
            edges = numpy.asarray(last.bucket_limit)
            self.assertEqual(sum(last.bucket), weight.size)
            # As many as there are weights below each edge, but for those that lie on one.
            below = numpy.cumsum(last.bucket)
            self.assertTrue((below >= [(weight < edge).sum() for edge in edges]).all(), name)
            self.assertTrue((below <= [(weight <= edge).sum() for edge in edges]).all(), name)
            self.assertEqual(reader.Histograms(f"gradients/{name}")[-1].histogram_value.num, weight.size)

    def test_resumed(self):
        """Of a run that was cut off behind its last checkpoint and went on, each step is there once."""
        self.train("--steps=5", "--save-every=3", f"--save={self.file('run')}")
        shutil.rmtree(self.file("run/step-5"))
        self.train("--steps=8", f"--save={self.file('run')}", "--resume", f"--metrics={self.file('metrics')}")
        points = read(self.file("tb")).Scalars("train/loss")
        self.assertEqual([point.step for point in points], list(range(1, 9)))
        later = [line for line in json_lines(self.file("metrics")) if line["event"] == "step"]
        self.assertEqual([line["step"] for line in later], list(range(4, 9)))
        numpy.testing.assert_allclose([point.value for point in points[3:]], [line["loss"] for line in later], 1e-6)


def main():
    global tools
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    tools = parser.parse_args().tools
    result = unittest.TextTestRunner(sys.stdout).run(unittest.defaultTestLoader.loadTestsFromTestCase(Reader))
    bad = len(result.failures) + len(result.errors)
    print(f"count {result.testsRun - bad} {bad} {len(result.skipped)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
