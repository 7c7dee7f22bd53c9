"""ONNX's own backend tests on dpc.onnx_backend: every node test, and the model tests that the onnx package carries. The
tests of onnx_backend_test.py and onnx_trained_test.py run with them.

Each test passes, is declared unsupported before anything runs, is wrong, or crashes. Tests run in worker processes, so
that a crash costs one test and is reported. The verdict is ONNX's own (its Runner compares). The exit status is 1 if
one is wrong or crashes, or if fewer than --at-least pass.

With --device=CUDA each test runs on the CPU and on the GPU, and what passes on the CPU alone counts as wrong.

    PYTHONPATH=frontends/python python3 tests/frontends/onnx_suite.py [--only=PATTERN] [--list=FILE] [--at-least=N]
        [--device=CUDA] [--every=K]
"""

import argparse
import collections
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import tempfile
import time
import unittest
import warnings

# NumPy computed the expected numbers in complex64, with 1.9e-7 where the exact result is 0; ONNX's tolerance is 1e-7.
TOLERANCES = {name: {"atol": 1e-6} for name in ("test_dft_inverse", "test_dft_inverse_opset19")}
# Random: the expected numbers are one draw of many. Any zeros and ones of the right shape and type pass.
TOLERANCES |= {f"test_bernoulli{kind}{form}": {"atol": 1} for kind in ("", "_double", "_seed")
               for form in ("", "_expanded")}
# NumPy rounded to float16 after each operator; the exact result, rounded once, is up to 0.94e-3 away, where ONNX's
# tolerance is 1e-3. cuDNN's attention has one rounding of its own, that of the probabilities.
CUDA_TOLERANCES = {"test_attention_4d_causal_fp16": {"rtol": 2e-3}}

CUDA = " on CUDA"  # tests there are kinds of their own

TEST_SECONDS = 120  # after which a test counts as hung


def make_runner(devices):
    """ONNX's tests for these devices, with a backend that records what it declared unsupported."""
    from onnx.backend.test import BackendTest

    from dpc import onnx_backend

    declared = []

    class Recorder:
        """A prepared model that records what it declares unsupported."""

        def __init__(self, rep):
            self.rep = rep

        def run(self, inputs, **kwargs):
            return note(self.rep.run, inputs, **kwargs)

    def note(function, *arguments, **kwargs):
        try:
            return function(*arguments, **kwargs)
        except onnx_backend.Unsupported as error:
            declared.append(str(error))
            raise

    class Recording(onnx_backend.Backend):
        @classmethod
        def supports_device(cls, device):
            # Not asked here: a process that has opened a GPU must not fork. Where there is none, preparing fails.
            return device in devices

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            return Recorder(note(super().prepare, model, device, **kwargs))

    tolerances = TOLERANCES | (CUDA_TOLERANCES if "CUDA" in devices else {})
    with warnings.catch_warnings():  # ONNX's references divide by zero on purpose
        warnings.simplefilter("ignore")
        return BackendTest(Recording, __name__, test_kwargs=tolerances), declared


def run_case(case, declared):
    """Runs one test; returns (verdict, reason)."""
    declared.clear()
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.run(result)
    if result.errors or result.failures:
        return "wrong", (result.errors + result.failures)[0][1]
    if declared:
        return "unsupported", declared[0]
    return ("unsupported", result.skipped[0][1]) if result.skipped else ("passed", "")


def serve(connection, cases, declared):
    """A worker: runs the tests that it is sent."""
    sys.stdout = open(os.devnull, "w")
    # Its own: two tests of one model, on the CPU and on the GPU, would make the same folder at the same time.
    os.environ["ONNX_MODELS"] = tempfile.mkdtemp(dir=os.environ["ONNX_MODELS"])
    while (name := connection.recv()) is not None:
        connection.send(run_case(cases[name], declared))


class Worker:
    def __init__(self, cases, declared):
        self.connection, far = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=(far, cases, declared))
        self.process.start()
        far.close()
        self.name, self.started = None, 0

    def start(self, name):
        self.name, self.started = name, time.monotonic()
        self.connection.send(name)

    def finish(self):
        """The test's verdict, or None while it runs."""
        try:
            if self.connection.poll():
                return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return "crashed", f"the process ended with {self.process.exitcode}"
        if time.monotonic() - self.started > TEST_SECONDS:
            self.process.kill()
            self.process.join()
            return "crashed", f"no end after {TEST_SECONDS} s"
        return None


def run_all(cases, declared, jobs):
    waiting, results = collections.deque(cases), {}
    workers = [Worker(cases, declared) for _ in range(jobs)]
    busy = set()
    while waiting or busy:
        for i, worker in enumerate(workers):
            if i not in busy and waiting:
                worker.start(waiting.popleft())
                busy.add(i)
        multiprocessing.connection.wait([workers[i].connection for i in busy], timeout=1)
        for i in list(busy):
            verdict = workers[i].finish()
            if verdict is None:
                continue
            results[workers[i].name] = (*verdict, time.monotonic() - workers[i].started)
            busy.discard(i)
            if verdict[0] == "crashed":
                workers[i] = Worker(cases, declared)
    for worker in workers:
        worker.connection.send(None)
        worker.process.join()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name this regular expression finds")
    parser.add_argument("--list", help="write every test's verdict to this file, as JSON lines")
    parser.add_argument("--at-least", type=int, default=0, help="node tests that must pass")
    parser.add_argument("--device", default="CPU", choices=["CPU", "CUDA"], help="CUDA: on a GPU, beside the CPU")
    parser.add_argument("--every", type=int, default=1, help="one test of so many, by the order of their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    models = tempfile.TemporaryDirectory()
    os.environ["ONNX_MODELS"] = models.name  # where ONNX's tests write their data
    devices = ["CPU", "CUDA"] if options.device == "CUDA" else ["CPU"]
    runner, declared = make_runner(devices)
    kinds, cases = {}, {}
    for kind, case in runner.test_cases.items():
        names = [name.removesuffix("_cpu") for name in unittest.defaultTestLoader.getTestCaseNames(case)
                 if name.endswith("_cpu") and re.search(options.only, name)]
        for name, device in itertools.product(names[::options.every], devices):
            key = f"{kind}.{name}_{device.lower()}"
            kinds[key] = kind.removeprefix("OnnxBackend").removesuffix("ModelTest") + CUDA * (device == "CUDA")
            cases[key] = case(f"{name}_{device.lower()}")
    own = ("onnx_backend_test.OnnxBackendTest", "onnx_trained_test.OnnxTrainedTest")
    for case in itertools.chain(*unittest.defaultTestLoader.loadTestsFromNames(own)):
        if re.search(options.only, case.id()) and devices == ["CPU"]:
            kinds[case.id()] = "Own"
            cases[case.id()] = case
    results = run_all(cases, declared, options.jobs)
    for name, (verdict, reason, seconds) in results.items():
        alike = results.get(f"{name.removesuffix('_cuda')}_cpu")
        if name.endswith("_cuda") and verdict == "unsupported" and alike[0] == "passed":
            results[name] = ("wrong", f"passes on the CPU alone: {reason}", seconds)
    if options.list:
        with open(options.list, "w", encoding="utf-8") as out:
            for name, (verdict, reason, seconds) in sorted(results.items()):
                line = {"kind": kinds[name], "test": name, "verdict": verdict, "reason": reason, "seconds": seconds}
                print(json.dumps(line), file=out)
    return report(kinds, results, options.at_least)


def report(kinds, results, at_least):
    tally = collections.defaultdict(collections.Counter)
    for name, (verdict, reason, _) in sorted(results.items()):
        tally[kinds[name]][verdict] += 1
        if verdict in ("wrong", "crashed"):
            print(f"{verdict}: {name}\n{reason}")
    for kind, count in sorted(tally.items()):
        print(f"{kind}: {sum(count.values())} tests: {count['passed']} passed, {count['unsupported']} declared "
              f"unsupported, {count['wrong']} wrong, {count['crashed']} crashed")
    bad = sum(count["wrong"] + count["crashed"] for count in tally.values())
    if tally["Node"]["passed"] < at_least:
        print(f"{tally['Node']['passed']} node tests pass; at least {at_least} must")
        bad += 1
    passed, skipped = (sum(count[verdict] for count in tally.values()) for verdict in ("passed", "unsupported"))
    print(f"count {passed} {bad} {skipped}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
