"""A network in PyTorch or ONNX Runtime, in a process of its own that bench/run talks to. It prints a line of JSON when it
is ready; then, for each line "STEPS" that it reads, the wall time of each of so many steps and the CPU time of all.

    peer.py NETWORK eager|compile|onnxruntime|ddp THREADS [MODEL.onnx]
    peer.py NETWORK export MODEL.onnx        writes the model, x.npy and label.npy beside it, and prints what it counts
    peer.py - repeat X.npy TO.npy COUNT      writes so many samples, those of X.npy over and over
    peer.py - list                           prints the networks' names
    peer.py - peaks THREADS                  prints GFLOP/s of products and GB/s of copies

ddp: two processes, each with half of the batch and of the threads, by gloo."""
import os
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from processes import resident, say  # noqa: E402

BATCHES = 4  # different ones, over and over


class Trained:
    """Steps of training, or of inference, in PyTorch."""

    def __init__(self, name, wrap, rank=0, ranks=1):
        import torch
        from torch.nn import functional as F

        import networks

        self.torch, self.cross_entropy, self.network = torch, F.cross_entropy, networks.NETWORKS[name]
        self.module = wrap(networks.make(name))
        x, y = self.network.data(BATCHES * self.network.batch)
        part = slice(rank * self.network.batch // ranks, (rank + 1) * self.network.batch // ranks)
        self.batches = [(a[part], b[part]) for a, b in zip(x.split(self.network.batch), y.split(self.network.batch))]
        if not self.network.infer:
            self.optimizer = torch.optim.Adam(self.module.parameters(), lr=1e-3)

    def step(self, number):
        x, y = self.batches[number % BATCHES]
        if self.network.infer:
            with self.torch.inference_mode():
                return self.module(x)[0].flatten()[0].item()
        loss = self.cross_entropy(self.module(x).flatten(0, -2), y.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Served:
    """Steps of inference in ONNX Runtime."""

    def __init__(self, name, threads, path):
        import numpy
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        x = numpy.load(os.path.join(os.path.dirname(path), "x.npy"))
        self.batches = numpy.split(x, BATCHES)

    def step(self, number):
        return self.session.run(None, {"x": self.batches[number % BATCHES]})[0].flat[0]


def measure(step, count, meet=lambda: None):
    """Wall milliseconds of each of `count` steps, and CPU milliseconds of all."""
    wall, begun = [], time.process_time()
    for number in range(count):
        meet()
        start = time.perf_counter()
        step(number)
        wall.append(1e3 * (time.perf_counter() - start))
    return wall, 1e3 * (time.process_time() - begun)


def serve(step):
    for line in sys.stdin:
        wall, cpu = measure(step, int(line))
        say(wall=wall, cpu=cpu, resident=resident())


def run_rank(rank, name, threads, counts):
    """One of two processes. counts: pipes by which rank 0 tells how many steps come, and rank 1 what CPU they took."""
    import torch
    from torch import distributed

    torch.set_num_threads(max(threads // 2, 1))
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    imported = resident()
    trained = Trained(name, torch.nn.parallel.DistributedDataParallel, rank, 2)
    while rank:
        try:
            count = counts.recv()
        except EOFError:
            return
        wall, cpu = measure(trained.step, count, distributed.barrier)
        counts.send((cpu, resident() - imported))
    for line in sys.stdin:
        counts.send(int(line))
        wall, cpu = measure(trained.step, int(line), distributed.barrier)
        other_cpu, grown = counts.recv()
        say(wall=wall, cpu=cpu + other_cpu, resident=resident() + grown)


def run_ddp(name, threads):
    import torch.multiprocessing as processes

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000))
    ours, theirs = processes.Pipe()
    other = processes.get_context("spawn").Process(target=run_rank, args=(1, name, threads, theirs), daemon=True)
    other.start()
    run_rank(0, name, threads, ours)


def export(name, path):
    import numpy

    import networks

    network = networks.NETWORKS[name]
    networks.export(name, path)
    for what, tensor in zip(("x", "label"), network.data(BATCHES * network.batch)):
        numpy.save(os.path.join(os.path.dirname(path), what + ".npy"), tensor.numpy())
    flops, moved = networks.floor(name)
    say(flops=flops, bytes=moved, batch=network.batch, infer=network.infer)


def repeat(path, to, count):
    import numpy

    x = numpy.load(path)
    numpy.save(to, numpy.concatenate([x] * (count // len(x) + 1))[:count])
    say(samples=count)


def peaks(threads):
    """The best of several products of 1,536 x 1,536 matrices, and of several copies of 256 MiB."""
    import torch

    torch.set_num_threads(threads)
    a = torch.randn(1536, 1536)
    big, copy = torch.ones(1 << 26), torch.ones(1 << 26)
    product = min(measure(lambda _: torch.mm(a, a), 9)[0])
    moved = min(measure(lambda _: copy.copy_(big), 9)[0])
    say(gflops=2 * 1536**3 / product / 1e6, gbytes=2 * 4 * (1 << 26) / moved / 1e6)


def main():
    name, mode = sys.argv[1:3]
    if mode == "export":
        return export(name, sys.argv[3])
    if mode == "repeat":
        return repeat(sys.argv[3], sys.argv[4], int(sys.argv[5]))
    if mode == "list":
        import networks

        return say(names=list(networks.NETWORKS))
    threads = int(sys.argv[3])
    if mode == "peaks":
        return peaks(threads)
    begun = time.perf_counter()
    if mode == "onnxruntime":
        import onnxruntime
    else:
        import torch

        torch.set_num_threads(threads)
    say(imported_s=time.perf_counter() - begun, resident=resident(),
        version=(onnxruntime if mode == "onnxruntime" else torch).__version__)
    if mode == "ddp":
        return run_ddp(name, threads)
    if mode == "onnxruntime":
        return serve(Served(name, threads, sys.argv[4]).step)
    return serve(Trained(name, torch.compile if mode == "compile" else lambda module: module).step)


if __name__ == "__main__":
    main()
