"""What bench/gpu makes of its measurements: figures, and the lines that it prints."""
import math

# Of an optimizer: what a step reads and writes of each parameter, beside what forward and backward pass read of it.
MOMENTS = {"adam": 2, "adamw": 2, "sgd": 1}


def least_bytes(network, parameters, precision):
    """Bytes that a step moves at least: each parameter is read forward and backward and its gradient is written and
    read, in 16 bits where products compute in them; it and the optimizer's moments are read and written. Activations do
    not count: they might stay in caches."""
    wide = 8 if precision == "fp64" else 4
    narrow = 2 if precision == "bf16" else wide
    return parameters * (4 * narrow + 2 * wide * (1 + MOMENTS[network.optimizer[0]]))


def units(network):
    """What is counted a second, and how many a step has."""
    return ("tokens", network.batch * network.sample[0]) if network.is_text() else ("images", network.batch)


def side(measured, flops, count, peak):
    """Figures of one side from its measurements: ms, kernel_ms."""
    ms = measured["ms"]
    return dict(measured, rate=1e3 * count / ms, over_kernels=ms / measured["kernel_ms"],
                share=flops / ms / 1e9 / peak["tflops"] if peak else None)  # fmt: skip


def floor_ms(flops, least, peak):
    return flops / peak["tflops"] / 1e9 + least / peak["gbytes"] / 1e6


def distance(ours, theirs):
    """Of two curves of losses: mean and greatest distance of their points."""
    if len(ours) != len(theirs) or not ours:
        raise ValueError("curves of %d and %d steps" % (len(ours), len(theirs)))
    apart = [abs(a - b) if None not in (a, b) else math.nan for a, b in zip(ours, theirs)]
    return {"mean": math.fsum(apart) / len(apart), "most": math.nan if any(map(math.isnan, apart)) else max(apart)}


def points(steps):
    """At which steps a table shows the losses: 1, 2, 5, 10, ... and the last."""
    found = [n * 10**k for k in range(6) for n in (1, 2, 5)]
    return sorted({n for n in found if n < steps} | {steps})


# ---- lines ----------------------------------------------------------------------------------------------------------


def side_line(name, s, unit):
    share = "      -     " if s["share"] is None else "%5.1f %% peak" % (100 * s["share"])
    return "  %-8s %10.3f ms  %12s %s/s %s  %5.2f x kernels  %8.3f ms host  %9.1f MiB" % (
        name, s["ms"], "{:,.0f}".format(s["rate"]), unit, share, s["over_kernels"], s["host_ms"], s["mib"])  # fmt: skip


def ratio(theirs, ours):
    """CPU time is the difference of two runs: where it is less than how they differ anyway, it may be less than 0."""
    return "%.3f" % (theirs / ours) if ours > 0 else "-"


def loss_line(name, losses):
    shown = ("nan" if losses[n - 1] is None else "%.4f" % losses[n - 1] for n in points(len(losses)))
    return "  loss %-8s %s" % (name, "  ".join("%d: %s" % pair for pair in zip(points(len(losses)), shown)))


def lines(r):
    """A result, for people."""
    if "failed" in r:
        return ["%s: failed: %s" % (r["part"], r["failed"].strip().split("\n")[-1])]
    ours, theirs = r["ours"], r.get("theirs")
    out = ["%s: %s, %s, batch %d, %s parameters, %d steps in each of %d rounds" % (
        r["part"], r["device"], r["precision"], r["batch"], "{:,}".format(r["parameters"]), r["steps"],
        r["rounds"])]  # fmt: skip
    if r["peak"]:
        out.append("  peak %.3f TFLOP/s, copies %.1f GB/s; floor %.3f ms" % (
            r["peak"]["tflops"], r["peak"]["gbytes"], r["floor_ms"]))  # fmt: skip
    out.append(side_line("ours", ours, r["unit"]))
    if theirs:
        out.append(side_line(r["peer"], theirs, r["unit"]))
        out.append("  theirs / ours: time %s, host %s, memory %s" % tuple(
            ratio(theirs[key], ours[key]) for key in ("ms", "host_ms", "mib")))  # fmt: skip
    out.append("  the plan moves %.1f MiB a step; parameters and moments alone are %.1f MiB (%.1f x)" % (
        r["moved_bytes"] / 2**20, r["least_bytes"] / 2**20, r["moved_bytes"] / r["least_bytes"]))  # fmt: skip
    out.append(loss_line("ours", ours["losses"]))
    if theirs:
        out.append(loss_line(r["peer"], theirs["losses"]))
        out.append("  losses lie %(mean).2g apart in the mean, %(most).2g at most" % r["apart"])
    out.append("  " + ", ".join("%s %.0f %%" % (kind, 100 * share) for kind, share in ours["kinds"][:8]))
    return out
