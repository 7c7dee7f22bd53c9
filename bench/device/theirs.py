"""A network in PyTorch, in a process of its own that bench/gpu talks to (processes.py).

    theirs.py NETWORK eager|compile|graphs|autotune DEVICE PRECISION THREADS FOLDER full|small

It writes FOLDER/first.safetensors, prepares, prints what it is, and then does what it reads, line by line:

    curve STEPS     trains from the first weights and tells the losses
    steps STEPS     trains on and tells milliseconds of a step, those that the host computed, and peak MiB
    kernels STEPS   trains on under PyTorch's profiler and tells milliseconds of kernels in a step

eager: PyTorch as it is. compile: torch.compile of network and loss. graphs: that, and the whole step with the update
captured as a CUDA graph, where there is CUDA. autotune: torch.compile(mode="max-autotune"), which has graphs of its
own. 16 bits are torch.autocast's, for pictures in channels-last order; float32 goes without TF32, as ours does."""
import os
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import files  # noqa: E402
import networks  # noqa: E402
from processes import keep_apart, resident, say  # noqa: E402
from setting import configure, type_of, wait  # noqa: E402

MODES = {"compile": "default", "graphs": "default", "autotune": "max-autotune"}
WARM = 3  # steps that prepare


def make_loss(module, device, precision):
    import torch
    from torch.nn import functional as F

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module, self.half = module, precision == "bf16"

        def forward(self, x, y):
            # Casts that a captured graph made must not be kept for what is computed outside of it.
            with torch.autocast(device.type, torch.bfloat16, self.half, cache_enabled=False):
                return F.cross_entropy(self.module(x).flatten(0, -2), y.flatten())

    return Loss()


class Trained:
    def __init__(self, network, how, device, precision, folder):
        import torch

        from module import Module

        torch.manual_seed(0)
        self.torch, self.network, self.device, self.how = torch, network, torch.device(device), how
        self.module = Module(network)
        write_first(self.module, folder + "/first.safetensors")
        self.channels_last = precision == "bf16" and not network.is_text()
        self.module.to(self.device, type_of("fp64" if precision == "fp64" else "fp32"))
        if self.channels_last:
            self.module.to(memory_format=torch.channels_last)
        self.batches = self.read(folder)
        self.optimizer = self.make_optimizer()
        self.loss_of = make_loss(self.module, self.device, precision)
        if how in MODES:
            self.loss_of = torch.compile(self.loss_of, mode=MODES[how])
        self.graph, self.number = None, 0
        self.first = {name: value.to("cpu", copy=True) for name, value in self.module.state_dict().items()}
        self.prepare()

    def prepare(self):
        """The first step compiles, and tries algorithms in memory that later ones do not need; the next ones are
        captured, and what a graph allocates then it keeps."""
        cuda = self.device.type == "cuda"
        self.step()
        wait(self.device)
        if cuda:
            self.torch.cuda.reset_peak_memory_stats()
        for _ in range(WARM - 1):
            self.step()
        if cuda and self.how == "graphs":
            self.capture()
        wait(self.device)

    def read(self, folder):
        """Batches on the host, in memory that the device reads by itself."""
        batches = []
        for x, y in read_batches(self.network, folder):
            if self.channels_last:
                x = x.contiguous(memory_format=self.torch.channels_last)
            batches.append(tuple(t.pin_memory() if self.device.type == "cuda" else t for t in (x, y)))
        return batches

    def make_optimizer(self):
        name, arguments = self.network.optimizer
        of = {"adam": self.torch.optim.Adam, "adamw": self.torch.optim.AdamW, "sgd": self.torch.optim.SGD}[name]
        more = {"fused": True} if self.device.type == "cuda" else {}
        if self.how == "graphs" and name != "sgd":
            more["capturable"] = self.device.type == "cuda"
        return of(self.module.parameters(), **arguments, **more)

    # ---- a step -----------------------------------------------------------------------------------------------------

    def train(self, x, y):
        loss = self.loss_of(x, y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def step(self):
        """The loss, which the next step may overwrite."""
        x, y = self.batches[self.number % len(self.batches)]
        self.number += 1
        if self.graph:
            self.x.copy_(x, non_blocking=True)
            self.y.copy_(y, non_blocking=True)
            self.graph.replay()
            return self.loss
        if self.how == "autotune":
            self.torch.compiler.cudagraph_mark_step_begin()
        return self.train(*(t.to(self.device, non_blocking=True) for t in (x, y)))

    def capture(self):
        cuda = self.torch.cuda
        self.x, self.y = (t.to(self.device, copy=True) for t in self.batches[0])
        beside = cuda.Stream()
        beside.wait_stream(cuda.current_stream())
        with cuda.stream(beside):
            for _ in range(WARM):
                self.train(self.x, self.y)
        cuda.current_stream().wait_stream(beside)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self.loss = self.train(self.x, self.y)
        self.graph = graph

    def begin_again(self):
        """From the first weights, without moments; all stays where it is, since graphs know their addresses."""
        with self.torch.no_grad():
            for name, value in self.module.state_dict().items():
                value.copy_(self.first[name])
            for state in self.optimizer.state.values():
                for value in state.values():
                    if self.torch.is_tensor(value):
                        value.zero_()
        self.number = 0

    # ---- what is asked ----------------------------------------------------------------------------------------------

    def curve(self, steps):
        self.begin_again()
        losses = [self.step().clone() for _ in range(steps)]
        say(losses=[loss.item() for loss in losses])

    def steps(self, count):
        wait(self.device)
        wall, host = time.perf_counter(), time.process_time()
        for _ in range(count):
            self.step()
        host = time.process_time() - host
        wait(self.device)
        wall = time.perf_counter() - wall
        say(ms=1e3 * wall / count, host_ms=1e3 * host / count, **self.memory())

    def memory(self):
        if self.device.type != "cuda":
            return {"mib": resident()}
        cuda = self.torch.cuda
        return {"mib": cuda.max_memory_allocated() / 2**20, "reserved_mib": cuda.max_memory_reserved() / 2**20}

    def kernels(self, count):
        """What ran on the GPU, without the ranges that PyTorch names; on a CPU, what operators took."""
        from torch.profiler import DeviceType, ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        activities += [ProfilerActivity.CUDA] if self.device.type == "cuda" else []
        with profile(activities=activities) as profiler:
            for _ in range(count):
                self.step()
            wait(self.device)
        if self.device.type == "cuda":
            took = [e.self_device_time_total for e in profiler.events()
                    if e.device_type != DeviceType.CPU and not getattr(e, "is_user_annotation", False)]  # fmt: skip
        else:
            took = [e.self_cpu_time_total for e in profiler.events()]
        say(kernel_ms=sum(took) / 1e3 / count)


def read_batches(network, folder):
    import torch

    if network.is_text():
        kind = {"uint16": torch.uint16, "uint32": torch.uint32}[files.token_type(network)]
        words = torch.from_file(folder + "/tokens.bin", size=files.token_count(network), dtype=kind).long()
        x, y = (part.view(-1, *network.sample) for part in (words[:-1], words[1:]))
    else:
        import numpy

        x, y = (torch.from_numpy(numpy.load("%s/%s.npy" % (folder, name))) for name in ("x", "label"))
        y = y.long()
    return list(zip(x.split(network.batch), y.split(network.batch)))


def write_first(module, path):
    """Parameters as our text has them, and buffers."""
    from module import attribute

    def give(tensor, turned):
        return lambda: (tensor.detach().t() if turned else tensor.detach()).contiguous().numpy().tobytes()

    found = [(p.name, p.extents, p.turned) for p in module.text.parameters]
    found += [(name, (count,), False) for name, count, _ in module.text.buffers]
    tensors = [(name, extents, give(getattr(module, attribute(name)), turned)) for name, extents, turned in found]
    files.write_weights(path, tensors)


def main(name, how, device, precision, threads, folder, size):
    import torch

    configure(int(threads))
    imported, begun = resident(), time.perf_counter()
    trained = Trained(networks.find(name, size == "small"), how, device, precision, folder)
    say(torch=torch.__version__, imported_mib=imported, prepared_s=time.perf_counter() - begun)
    for line in sys.stdin:
        what, count = line.split()
        {"curve": trained.curve, "steps": trained.steps, "kernels": trained.kernels}[what](int(count))


if __name__ == "__main__":
    keep_apart()
    main(*sys.argv[1:])
