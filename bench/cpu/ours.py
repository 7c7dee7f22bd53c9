"""A network by dpc and dprun: compiled once, run anew for each measurement."""
import os
import statistics

from processes import run
from records import events, kinds, slices

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bazel-bin", "tools")


class Ours:
    """ask: calls peer.py. options: threads, of which several devices have at least one each, and isa."""

    def __init__(self, ask, folder, counted, options, devices):
        threads = max(options.threads, devices)
        self.ask, self.folder, self.infer = ask, folder, counted["infer"]
        self.plan = os.path.join(folder, "plan%d.bin" % devices)
        self.common = ["--threads=%d" % threads, "--quiet"]
        how = ["--mode=infer"] if self.infer else ["--loss=softmax_cross_entropy(y,label)", "--optimizer=adam(lr=1e-3)"]
        if options.isa:
            how += ["--isa=" + options.isa]
        if options.fast_math:
            how += ["--fast-math=winograd"]
        if devices > 1:
            how += ["--strategy=data", "--devices=%d" % devices]
        self.compile_s = run([TOOLS + "/dpc", "compile", folder + "/model.onnx", "--batch=%d" % counted["batch"],
                              "--threads=%d" % max(threads // devices, 1), "-o", self.plan, *how])[0]

    def command(self, steps, *more):
        data = ["--data", "x=%s/x.npy" % self.folder]
        if self.infer:
            # The file is the batch that inference runs over: once for each step. Peers leave results in memory, so ours
            # are not written to a disk either.
            return [TOOLS + "/dprun", self.plan, "--infer", "--data", "x=%s/x%d.npy" % (self.folder, steps),
                    "--output", "y=-", *self.common, *more]
        return [TOOLS + "/dprun", self.plan, *data, "--data", "label=%s/label.npy" % self.folder, "--steps=%d" % steps,
                *self.common, *more]

    def run(self, *command):
        return run(self.command(*command), drop=self.infer)

    def prepare(self, steps):
        """Writes the data of so many steps of inference."""
        if self.infer:
            self.ask("-", "repeat", self.folder + "/x.npy", "%s/x%d.npy" % (self.folder, steps), str(steps))

    def first_s(self):
        """Seconds from the start to the end of the first step and of the process."""
        self.prepare(1)
        return self.run(1)[0]

    def measure(self, few, many):
        """Wall and CPU milliseconds of a step, from two runs of so many steps; peak MiB of the second, or of inference of
        the first: data of many steps, which lie in memory, would count."""
        for steps in (few, many):
            self.prepare(steps)
        metrics = self.folder + "/metrics.jsonl"
        short = self.run(few)
        long = self.run(many) if self.infer else self.run(many, "--metrics=" + metrics)
        wall, cpu = (1e3 * (long[i] - short[i]) / (many - few) for i in (0, 1))
        if not self.infer:
            wall = statistics.median(e["ms"] for e in events(metrics, "step")[few:])
        return wall, cpu, (short if self.infer else long)[2]

    def shares(self, steps):
        """Share of the time of each kind of node, from a trace, the largest first."""
        self.prepare(steps)
        path = self.folder + "/trace.json"
        self.run(steps, "--trace=" + path)
        return kinds(slices(path))
