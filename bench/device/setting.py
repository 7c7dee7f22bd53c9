"""How PyTorch is set up to be measured."""


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
