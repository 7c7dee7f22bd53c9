"""A network in PyTorch, in a process of its own that bench/gpu talks to (processes.py).

    theirs.py train NETWORK eager|compile|graphs|autotune DEVICE PRECISION THREADS FOLDER full|small
    theirs.py peaks DEVICE PRECISION THREADS full|small      prints TFLOP/s of products and GB/s of copies

The first form writes FOLDER/first.safetensors, prepares, prints what it is, and then does what it reads, line by line:

    curve STEPS     trains from the first weights and tells the losses
    steps STEPS     trains on and tells milliseconds of a step, those that the host computed, and peak MiB
    kernels STEPS   trains on under PyTorch's profiler and tells milliseconds of kernels in a step

eager: PyTorch as it is. compile: torch.compile of network and loss. graphs: that, and the whole step with the update
captured as a CUDA graph, where there is CUDA. autotune: torch.compile(mode="max-autotune"), which has graphs of its own.
16 bits are torch.autocast's, for pictures in channels-last order; float32 goes without TF32, as ours does."""
import os
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import files  # noqa: E402
import networks  # noqa: E402
from processes import keep_apart, resident, say  # noqa: E402

MODES = {"compile": "default", "graphs": "default", "autotune": "max-autotune"}
WARM = 3  # steps that prepare


def type_of(precision):
    import torch

    return {"bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64}[precision]


def configure(threads):
    import torch

    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True


def wait(device):
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize()


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
        for _ in range(WARM):
            self.step()
        if how == "graphs" and self.device.type == "cuda":
            self.capture()
        wait(self.device)
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()

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
        self.x, self.y = (t.to(self.device) for t in self.batches[0])
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

    tensors = [(p.name, p.extents, give(getattr(module, attribute(p.name)), p.turned)) for p in module.text.parameters]
    tensors += [(name, (count,), give(getattr(module, attribute(name)), False)) for name, count, _ in module.text.buffers]
    files.write_weights(path, tensors)


def peaks(device, precision, threads, size):
    """The best of several products of square matrices of several sizes, and of several copies."""
    import torch

    configure(int(threads))
    device = torch.device(device)
    large = device.type == "cuda" and size != "small"

    def best(count, do):
        least = float("inf")
        for _ in range(count):
            wait(device)
            begun = time.perf_counter()
            do()
            wait(device)
            least = min(least, time.perf_counter() - begun)
        return least

    flops = 0
    for width in (4096, 8192, 16384) if large else (256, 1024):
        a = torch.randn(width, width, device=device).to(type_of(precision))
        flops = max(flops, 2 * width**3 / best(9, lambda: torch.mm(a, a)))
    numbers = 1 << (28 if large else 22)
    big, copy = (torch.ones(numbers, device=device) for _ in range(2))
    say(tflops=flops / 1e12, gbytes=2 * 4 * numbers / best(9, lambda: copy.copy_(big)) / 1e9)


def train(name, how, device, precision, threads, folder, size):
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
    {"train": train, "peaks": peaks}[sys.argv[1]](*sys.argv[2:])
