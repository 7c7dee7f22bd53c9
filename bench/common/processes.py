"""Processes that are measured, and peers: processes that are told line by line what to do and answer in lines of
JSON."""
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time


class Failed(SystemExit):
    """A process that was to succeed has not."""


def run(command, environment=None, drop=False):
    """Wall and CPU seconds, peak MiB and output of a command, which must succeed. A process that starts others should
    be small: what it holds counts as memory of them too. drop: only what it says of failures is kept."""
    with tempfile.TemporaryFile() as out:
        begun = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL if drop else out, stderr=out, env=environment)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        wall, child.returncode = time.perf_counter() - begun, os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
        if child.returncode:
            raise Failed("%s ended with %d\n%s" % (" ".join(command), child.returncode, text))
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


# ---- the side that asks ---------------------------------------------------------------------------------------------


def answer_of(command):
    """The last line that a command prints, which is JSON."""
    out = subprocess.run(command, stdout=subprocess.PIPE)
    if out.returncode:
        raise Failed("%s ended with %d" % (" ".join(command), out.returncode))
    return json.loads(out.stdout.decode().strip().split("\n")[-1])


class Peer:
    def __init__(self, command, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), PYTHONDONTWRITEBYTECODE="1")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.child = subprocess.Popen(command, text=True, env=environment, **pipes)
        try:
            self.ready = self.answer()
        except BaseException:
            self.end()
            raise

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise Failed("%s ended" % " ".join(self.child.args))
        return json.loads(line)

    def ask(self, line):
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass  # then there is no answer
        return self.answer()

    def end(self):
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


# ---- the side that answers ------------------------------------------------------------------------------------------


answers = sys.stdout


def keep_apart():
    """From here on, what anything else prints to standard output goes to standard error."""
    global answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)


def say(**what):
    print(json.dumps(what), file=answers, flush=True)


def resident():
    """MiB of this process at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---- both -----------------------------------------------------------------------------------------------------------


def first_line(*command):
    """What a command prints first; None if it is not there or prints nothing."""
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    return out.stdout.strip().split("\n")[0] or None


def gpu_name():
    """Of the first GPU, with its driver; None without one."""
    return first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")


def cpu_name():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    return found.group(1) if found else platform.machine()
