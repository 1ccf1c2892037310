"""Kernels for nbval that need not import torch and Matplotlib, two seconds of a processor each: one
process imports them once, and forks for each notebook.

Of the book and its library that process imports nothing, and of torch it runs nothing: a notebook
finds what it would find in a kernel that was started for it alone.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import Any

LAUNCHER = "ipykernel_launcher"
MATPLOTLIB = ("matplotlib.figure", "matplotlib.font_manager")
FIRST = ("ipykernel.kernelapp", *MATPLOTLIB, "scipy.stats", "torch")


def launch(command: list[str], **named: Any) -> Any:
    """What Jupyter starts with ``command``: forked, if it is a kernel of this Python's.

    Forking what has loaded torch is safe on Linux, not on macOS; Windows can't fork.
    """
    if sys.platform == "linux" and command[0] == sys.executable and LAUNCHER in command:
        return Kernel(command[command.index(LAUNCHER) :], named.get("cwd"), named["env"])
    from jupyter_client.launcher import launch_kernel

    return launch_kernel(command, **named)


class Kernel:
    """A forked kernel, and of a :class:`subprocess.Popen` what Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], cwd: str | None, env: dict[str, str]) -> None:
        self.pid: int = ask("fork", arguments, os.path.abspath(cwd or ""), env)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int | None:
        return self._ended(0)

    def _ended(self, options: int) -> int | None:
        if self.returncode is None:
            self.returncode = ask("wait", self.pid, options)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def ask(*request: Any) -> Any:
    """What the process that forks answers."""
    server = forking()
    assert server.stdin is not None
    assert server.stdout is not None
    print(json.dumps(request), file=server.stdin, flush=True)
    return json.loads(server.stdout.readline())


@cache
def forking() -> subprocess.Popen[str]:
    """The process that forks. It ends when it has no more to read, as when this one is killed; and
    with it end its kernels, which look after their parent.
    """
    server = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # or Ctrl-C would end it before the kernels
    )
    atexit.register(server.communicate)
    return server


def serve() -> None:
    del sys.path[0]  # this folder, which a kernel doesn't have
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel does
    for name in FIRST:
        import_module(name)
    gc.freeze()  # or a collection in a kernel would copy all that it shares
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        answer: int | None
        if what == "fork":
            answer = os.fork()
            if not answer:
                become_kernel(*arguments)
                return
            os.setpgid(answer, answer)  # Jupyter sends its signals to a kernel's group
        else:
            ended, status = os.waitpid(*arguments)
            answer = os.waitstatus_to_exitcode(status) if ended else None
        print(json.dumps(answer), flush=True)


def become_kernel(arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    """Do what ``python -m ipykernel_launcher`` would from here on."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    # Whose end is the kernel's. From the environment ipykernel read it when it was imported.
    sys.argv[:] = [*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    # Else numbers that a notebook forgets to seed would be the same in every kernel.
    import_module("torch").default_generator.seed()
    import_module("numpy.random").seed()
    import_module("ipykernel.kernelapp").launch_new_instance()


if __name__ == "__main__":
    serve()
