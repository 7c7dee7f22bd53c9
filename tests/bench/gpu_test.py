"""Tests bench/gpu without PyTorch: the networks, what is read of plans and traces, the figures; then the program
itself, alone and with a peer that stand_in.py stands for. DP_TEST_TARGET is the device (cpu)."""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["bench/device", "bench/common"]
import figures
import files
import networks
import ours
import records
import text

DEVICE = os.environ.get("DP_TEST_TARGET", "cpu")
PEER = os.path.abspath("tests/bench/stand_in.py")
PARAMETERS = {  # of the full networks; ResNet-50 and GPT-2 as PyTorch and OpenAI count them, the Llama as Meta does
    "mlp": 1863690, "mnist-cnn": 25775882, "resnet-18": 11173962, "resnet-50": 25557032, "gpt-124m": 124439808,
    "gpt-350m": 354823168, "llama-1b": 1235814400}  # fmt: skip

EXPLAINED = """plan bench: batch 8
  program init: graph 'init', 1 tensors
    stream compute
         0 Fill node w, kernel cuda.device.dp.Fill
           -> w: float32[8,8] [R] persistent +0, 256 bytes
  program train: graph 'train', 9 tensors
    input x: uint8[N,8] host input +0, 64 bytes
    stream compute
         0 Cast {to=float32} node p, kernel cuda.elementwise.Cast, waits for 0
           <- x: uint8[N,8] [R] device input +0, 64 bytes
           -> p: float32[N,8] [R] transient +0, 256 bytes
         1 Reshape {shape=[N,2,4]} node r, kernel cuda.copy.Reshape
           <- p: float32[N,8] [R] transient +0, 256 bytes
           -> r: float32[N,2,4] [R] transient +0, 256 bytes
        12 Reshape {shape=[N,8]} node s, kernel cuda.copy.Reshape
           <- r: float32[N,2,4] [R] transient +0, 256 bytes
           -> s: float32[N,8] [R] transient +256, 256 bytes
        13 dp.Region, kernel cuda.device.dp.Region
           | y = MatMul node y (s, w)
           <- s: float32[N,8] [R] transient +256, 256 bytes
           <- w: float32[8,8] [S(0)] persistent +0, 128 bytes
           -> "y:0": float32[N,8] [R] transient +512, 1024 bytes
           scratch transient +2048, 4194304 bytes
    stream upload, ahead
         0 Broadcast x
           <- x: uint8[N,8] [R] host input +0, 64 bytes
  program eval: graph 'eval', 1 tensors
    stream compute
         0 Relu node z, kernel cuda.elementwise.Relu
           <- s: float32[N,8] [R] transient +256, 256 bytes
"""


def trace_of(slices):
    """slices: (stream, run, name, microseconds, program)."""
    names = sorted({s[0] for s in slices})
    found = [{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "device 0"}}]
    found += [{"ph": "M", "pid": 0, "tid": i, "name": "thread_name", "args": {"name": n}} for i, n in enumerate(names)]
    found += [{"ph": "X", "pid": 0, "tid": names.index(stream), "ts": 0, "dur": dur, "name": name, "cat": program,
               "args": {"run": run}} for stream, run, name, dur, program in slices]  # fmt: skip
    return {"otherData": {}, "traceEvents": found}


class Networks(unittest.TestCase):
    def test_full_ones_have_the_parameters_of_their_names(self):
        self.assertEqual({n: text.Text(networks.find(n, False)).count() for n in networks.NETWORKS}, PARAMETERS)

    def test_flops_of_the_mlp(self):
        # Three products a layer, without the gradient of the pictures.
        products = 2 * 784 * 1024 + 3 * (1024 * 1024 + 1024 * 10)
        self.assertEqual(text.Text(networks.find("mlp", False)).flops, 2 * 64 * products)

    def test_flops_of_gpt2(self):
        # Six for each parameter that is multiplied, and causal attention, by token.
        places = 1024 * 768
        norms_and_biases = 12 * (4 * 768 + 9 * 768) + 2 * 768
        multiplied = PARAMETERS["gpt-124m"] - places - norms_and_biases
        expected = (6 * multiplied + 6 * 12 * 1024 * 768) * 16 * 1024
        self.assertEqual(text.Text(networks.find("gpt-124m", False)).flops, expected)

    def test_small_ones_are_the_same_but_smaller(self):
        for name, network in networks.NETWORKS.items():
            small = networks.SMALL[name]
            self.assertIs(small.define, network.define, name)
            self.assertEqual((small.optimizer, small.precision), (network.optimizer, network.precision), name)
            self.assertLess(text.Text(small).count(), 50000, name)

    def test_weights_are_a_file_of_safetensors(self):
        with tempfile.TemporaryDirectory() as folder:
            files.write_weights(folder + "/w", [("a", (2, 3), lambda: bytes(24)), ("b", (1,), lambda: b"\1\2\3\4")])
            with open(folder + "/w", "rb") as file:
                data = file.read()
        end = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:end])
        self.assertEqual(header["b"], {"dtype": "F32", "shape": [1], "data_offsets": [24, 28]})
        self.assertEqual((end % 8, data[end + 24 :]), (0, b"\1\2\3\4"))


class Figures(unittest.TestCase):
    def test_moved_bytes_are_those_of_a_step_that_are_not_copied_onto_themselves(self):
        self.assertEqual(ours.moved_bytes(EXPLAINED), 64 + 256 + 2 * 256 + 256 + 128 + 1024)

    def test_slices_are_those_of_steps_after_the_first_two(self):
        trace = trace_of([("compute", 0, "Fill w", 9, "init"), ("compute", 2, "Gemm a", 9, "train"),
                          ("compute", 3, "Gemm a", 30, "train"), ("compute", 3, "wait", 500, "train"),
                          ("copy", 3, "Broadcast x", 7, "train"), ("compute", 4, "Relu b", 10, "train")])  # fmt: skip
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(trace, file)
            file.flush()
            found = records.slices(file.name)
        expected = [("compute", "Gemm a", 30), ("copy", "Broadcast x", 7), ("compute", "Relu b", 10)]
        self.assertEqual([(s["stream"], s["name"], s["dur"]) for s in found], expected)
        kinds = records.kinds([s for s in found if s["stream"] == "compute"])
        self.assertEqual(kinds, [("Gemm", 0.75), ("Relu", 0.25)])

    def test_a_side(self):
        side = figures.side({"ms": 40.0, "kernel_ms": 32.0}, 8e12, 1000, {"tflops": 400.0, "gbytes": 1.0})
        self.assertEqual((side["rate"], side["over_kernels"], side["share"]), (25000, 1.25, 0.5))
        self.assertIsNone(figures.side({"ms": 40.0, "kernel_ms": 32.0}, 8e12, 1000, None)["share"])

    def test_steps_are_those_after_the_first_ones(self):
        made = object.__new__(ours.Ours)
        made.measured = lambda steps: ([2.0] * steps, [100.0] * ours.FEW + [4.0] * (steps - ours.FEW), 1 + steps, 7.0)
        made.prepare()
        self.assertEqual(made.steps(5), {"ms": 4.0, "host_ms": 1000.0, "mib": 7.0})

    def test_ratios(self):
        self.assertEqual((figures.ratio(3.0, 2.0), figures.ratio(3.0, -0.1)), ("1.500", "-"))

    def test_floor_and_least_bytes(self):
        self.assertEqual(figures.floor_ms(8e12, 3e9, {"tflops": 400.0, "gbytes": 1000.0}), 23.0)
        adam, sgd = networks.find("mlp", True), networks.find("resnet-18", True)
        found = [figures.least_bytes(adam, 10, "fp32"), figures.least_bytes(adam, 10, "bf16"),
                 figures.least_bytes(sgd, 10, "fp32"), figures.least_bytes(sgd, 10, "fp64")]  # fmt: skip
        self.assertEqual(found, [400, 320, 320, 640])

    def test_distance_of_curves(self):
        self.assertEqual(figures.distance([1.0, 2.0], [1.5, 2.25]), {"mean": 0.375, "most": 0.5})
        self.assertTrue(math.isnan(figures.distance([1.0, None], [1.0, 2.0])["most"]))
        for wrong in ([], [1.0]), ([], []):
            self.assertRaises(ValueError, figures.distance, *wrong)

    def test_points_of_a_curve(self):
        self.assertEqual(figures.points(100), [1, 2, 5, 10, 20, 50, 100])
        self.assertEqual(figures.points(3), [1, 2, 3])


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.out = folder.name, folder.name + "/gpu.json"

    def run_gpu(self, *words, device=DEVICE, curve=6, **environment):
        command = ["bench/gpu", "--tools=tools", "--small", "--device=" + device, "--rounds=2", "--seconds=0.01",
                   "--curve=%d" % curve, "--out=" + self.out, "--python=" + PEER, *words]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **environment))

    def results(self):
        with open(self.out) as file:
            return {r["part"]: r for r in json.load(file)["results"]}

    def check_alone(self, name, result):
        network = networks.find(name, True)
        side = result["ours"]
        self.assertEqual(len(side["losses"]), 6)
        self.assertAlmostEqual(side["losses"][0], math.log(network.classes), delta=1)
        self.assertEqual((result["rounds"], len(side["rounds"])), (2, 2))
        for key in ("ms", "kernel_ms", "mib", "rate", "over_kernels"):
            self.assertGreater(side[key], 0, key)
        # The trace is of another run, so on a busy machine its kernels may have taken longer than the step.
        self.assertAlmostEqual(side["over_kernels"], side["ms"] / side["kernel_ms"])
        self.assertAlmostEqual(side["rate"], 1e3 * result["units"] / side["ms"])
        self.assertAlmostEqual(sum(share for _, share in side["kinds"]), 1)
        self.assertGreater(result["moved_bytes"], 4 * result["parameters"])
        self.assertNotIn("theirs", result)

    def test_every_network_alone(self):
        done = self.run_gpu("--against=alone")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.results()
        self.assertEqual(list(found), [name + "/alone" for name in networks.NETWORKS])
        for name in networks.NETWORKS:
            with self.subTest(name):
                self.check_alone(name, found[name + "/alone"])
                self.assertIn("\n  loss ours     1: %.4f" % found[name + "/alone"]["ours"]["losses"][0], done.stdout)

    def test_a_network_is_the_same_on_every_device(self):
        curves = []
        for device in ("cpu", DEVICE):
            done = self.run_gpu("--precision=fp64", "llama-1b/alone", "mnist-cnn/alone", device=device)
            self.assertEqual(done.returncode, 0, done.stderr)
            curves.append([r["ours"]["losses"] for r in self.results().values()])
        for one, other in zip(*curves):
            self.assertLess(figures.distance(one, other)["most"], 1e-9)

    def test_calibrated(self):
        done = self.run_gpu("--calibrate", "mlp/alone")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_alone("mlp", self.results()["mlp/alone"])

    def test_fast_math_is_our_side_s(self):
        done = self.run_gpu("--fast-math=winograd", "mnist-cnn/alone")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.results()["mnist-cnn/alone"]["fast_math"], "winograd")
        done = self.run_gpu("--fast-math=nonsense", "mnist-cnn/alone")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--fast-math=nonsense", self.results()["mnist-cnn/alone"]["failed"])

    def test_with_a_peer(self):
        done = self.run_gpu("mlp/graphs")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = self.results()["mlp/graphs"]
        self.assertEqual(result["peak"], {"tflops": 2.0, "gbytes": 50.0})
        self.assertEqual(result["theirs"]["ms"], 40.0)
        self.assertEqual(result["theirs"]["over_kernels"], 1.25)
        self.assertEqual(result["theirs"]["rate"], 200)
        self.assertAlmostEqual(result["theirs"]["share"], result["flops"] / 40e-3 / 2e12)
        self.assertEqual(result["theirs"]["mib"], 512 if DEVICE == "cpu" else 612)
        apart = [abs(loss - 2.5) for loss in result["ours"]["losses"]]
        self.assertAlmostEqual(result["apart"]["most"], max(apart))
        self.assertIn("theirs / ours: time %.3f" % (40.0 / result["ours"]["ms"]), done.stdout)

    def test_a_peer_that_fails_fails_its_part_alone(self):
        self.assertEqual(self.run_gpu("mlp/eager").returncode, 0)
        for place in ("theirs", "curve", "steps", "kernels"):
            done = self.run_gpu("mlp/eager", "mlp/alone", FAIL=place)
            self.assertEqual(done.returncode, 1, place)
            found = self.results()
            self.assertEqual(len(found), 2)  # the failure replaces the result
            self.assertIn("ended", found["mlp/eager"]["failed"])
            self.assertIn("mlp/eager: failed: ", done.stdout)
            self.assertIn("ours", found["mlp/alone"])
        self.assertEqual(self.run_gpu("mlp/eager", FAIL="peaks").returncode, 1)

    def test_a_part_that_takes_too_long_is_ended(self):
        hung = self.folder + "/hung"
        done = self.run_gpu("--limit=8", "mlp/eager", FAIL="hang-theirs", HUNG=hung)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.results()["mlp/eager"]["failed"], "not done within 8 s")
        with open(hung) as file:
            self.assertFalse(os.path.exists("/proc/" + file.read()))

    def test_full_networks_compile(self):
        for name, network in networks.NETWORKS.items():
            made = ours.Ours("tools", None, network, self.folder, DEVICE, network.precision, 1)
            made.compile()
            self.assertGreater(made.moved_bytes(), 4 * PARAMETERS[name], name)

    def test_a_program_that_fails_is_quoted(self):
        done = self.run_gpu("--tools=tests/bench", "mlp/alone")
        self.assertEqual(done.returncode, 1)
        self.assertIn("dpc", self.results()["mlp/alone"]["failed"])

    def test_the_list(self):
        done = self.run_gpu("--list")
        parts = done.stdout.split()
        self.assertEqual((done.returncode, len(parts), len(set(parts))), (0, 28, 28))
        self.assertEqual(self.run_gpu("--list", "resnet-18", "--against=eager,alone").stdout.split(),
                         ["resnet-18/eager", "resnet-18/alone"])  # fmt: skip

    def test_what_is_refused(self):
        for wrong in ("nothing", "mlp/nothing", "--nothing", "--limit=0", "--rounds=x", "--against=us", "--device=tpu"):
            done = self.run_gpu(wrong)
            self.assertEqual((done.returncode, len(done.stderr.strip().split("\n"))), (64, 1), wrong)


if __name__ == "__main__":
    unittest.main()
