"""A network of networks.py by dpc and dprun."""
import os
import re
import statistics

from files import data_arguments
from processes import Failed, run
from records import events, kinds, slices
from text import Text

FEW = 10  # steps that prepare: kernels, and a graph for each copy of the inputs


class Ours:
    """device: cpu or cuda. After the peer has written first.safetensors into the folder, training starts from it."""

    def __init__(self, tools, environment, network, folder, device, precision, threads, fast_math=None):
        self.tools, self.environment, self.network, self.folder = tools, environment, network, folder
        self.device, self.plan, self.model = device, folder + "/plan.bin", folder + "/model.dpt"
        self.text = Text(network)
        with open(self.model, "w") as file:
            file.write(self.text.model())
        self.threads = ["--threads=%d" % threads] if device == "cpu" else []
        self.how = ["--target=" + device, "--precision=" + precision, "--batch=%d" % network.batch, "--metrics=none",
                    *self.threads, *(["--fast-math=" + fast_math] if fast_math else [])]  # fmt: skip

    def run(self, tool, *arguments):
        return run(["%s/%s" % (self.tools, tool), *arguments], self.environment)

    def compile(self, *more):
        self.compile_s = self.run("dpc", "compile", self.model, "-o", self.plan, *self.how, *more)[0]

    def calibrate(self):
        """Measures which algorithms of libraries are the fastest, and compiles again."""
        path = self.folder + "/calibration.json"
        plan = [self.plan] if self.device == "cuda" else []  # a CPU has no libraries to choose of
        self.run("dpc", "calibrate", *plan, "--device=" + self.device, "-o", path)
        self.compile("--calibration=" + path)

    def train(self, steps, *more):
        first = self.folder + "/first.safetensors"
        init = ["--init=" + first] if os.path.exists(first) else []
        return self.run("dprun", self.plan, "--device=" + self.device, "--steps=%d" % steps, "--quiet", *self.threads,
                        *init, *data_arguments(self.network, self.folder, steps), *more)  # fmt: skip

    def measured(self, steps):
        """Losses and milliseconds of so many steps; seconds of CPU time of all of it; peak MiB."""
        path = self.folder + "/metrics.jsonl"
        _, cpu_s, resident_mib, _ = self.train(steps, "--metrics=" + path)
        found = events(path, "step")
        if len(found) != steps or found[-1]["epoch"] != 1:
            raise Failed("dprun reports %d steps, not %d" % (len(found), steps))
        memory = events(path, "memory")[0]
        arenas = memory["persistent_bytes"] + memory["transient_bytes"] + 2 * memory["device_input_bytes"]
        mib = resident_mib if self.device == "cpu" else arenas / 2**20
        return [e["loss"] for e in found], [e["ms"] for e in found], cpu_s, mib

    def curve(self, steps):
        losses, times, _, _ = self.measured(steps)
        return losses, statistics.median(times)

    def prepare(self):
        """Notes what CPU time the steps take that come before those that count."""
        self.before_s = self.measured(FEW)[2]

    def steps(self, count):
        """Milliseconds of a step and of the host's CPU time in it; peak MiB."""
        _, times, cpu_s, mib = self.measured(FEW + count)
        return {"ms": sum(times[FEW:]) / count, "host_ms": 1e3 * (cpu_s - self.before_s) / count, "mib": mib}

    def traced(self, steps):
        """Milliseconds of the compute stream's kernels in a step, and the share of each kind of node."""
        path = self.folder + "/trace.json"
        self.train(steps + 2, "--trace=" + path)
        found = [e for e in slices(path) if e["stream"] == "compute"]
        runs = {}
        for e in found:
            runs[e["args"]["run"]] = runs.get(e["args"]["run"], 0) + e["dur"] / 1e3
        if len(runs) != steps:
            raise Failed("the trace has %d steps, not %d" % (len(runs), steps))
        return {"kernel_ms": statistics.median(runs.values()), "kinds": kinds(found)}

    def moved_bytes(self):
        return moved_bytes(self.run("dprun", self.plan, "--explain")[3])


def part(text, begin, end):
    """From a line that begins with `begin` to the next that begins with `end`."""
    found = re.search(r"^%s.*?(?=^%s|\Z)" % (begin, end), text, re.M | re.S)
    if not found:
        raise Failed("dprun --explain has no line %r" % begin)
    return found.group(0)


def moved_bytes(explained):
    """Bytes of the operands and results of each instruction of the compute stream in a step. What is copied onto itself
    moves nothing."""
    compute = part(part(explained, "  program train:", "  program "), "    stream compute", "    stream ")
    total = 0
    for instruction in re.split(r"^ +\d+ (?=\S)", compute, flags=re.M)[1:]:
        moved = re.findall(r"^ +(?:<-|->) .*\] (\w[\w ]*) (\+\d+), (\d+) bytes", instruction, re.M)
        if re.search(r"kernel \w+\.copy\.", instruction) and moved[0][:2] == moved[-1][:2]:
            continue
        total += sum(int(size) for _, _, size in moved)
    return total
