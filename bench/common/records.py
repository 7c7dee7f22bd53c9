"""Reads what dprun writes: metrics and traces."""
import json


def events(path, kind):
    """Those of a file of --metrics."""
    with open(path) as lines:
        return [event for event in map(json.loads, lines) if event["event"] == kind]


def slices(path):
    """What ran in steps, from a file of --trace, each with the name of its stream: no waits, no first values, and
    nothing of the first two steps, which prepare."""
    with open(path) as file:
        found = json.load(file)["traceEvents"]
    streams = {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["name"] == "thread_name"}
    return [dict(e, stream=streams[e["pid"], e["tid"]]) for e in found
            if e["ph"] == "X" and e["name"] != "wait" and e["cat"] != "init" and e["args"]["run"] > 2]  # fmt: skip


def kinds(of):
    """Share of the time of each kind of node in slices, the largest first."""
    times = {}
    for e in of:
        kind = e["name"].split(" ")[0]
        times[kind] = times.get(kind, 0) + e["dur"]
    whole = sum(times.values()) or 1
    return sorted(((kind, t / whole) for kind, t in times.items()), key=lambda pair: -pair[1])
