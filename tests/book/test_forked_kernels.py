"""What nbval's kernels are forked of leaves nothing in them (``forked_kernels.py``)."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import forked_kernels
import pytest
from jupyter_client.launcher import launch_kernel
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import local_provisioner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are not forked there")
SETUP = f"import os, signal, sys, warnings, numpy, {', '.join(forked_kernels.FIRST)}"
BOOKS_OWN = "{'sdpa_lib', 'sdpa_book'} & sys.modules.keys()"
SEEN = (
    "sys.path",
    "sys.flags",
    "os.path.basename(sys.argv[0]).removesuffix('.py')",
    "os.getcwd()",
    "{k: v for k, v in os.environ.items() if k != 'JPY_PARENT_PID'}",
    "os.getpgid(0) == os.getpid()",
    "signal.getsignal(signal.SIGINT)",
    "sorted(map(str, warnings.filters))",
    "matplotlib.get_backend()",
    "torch.get_num_threads()",
    BOOKS_OWN,
    "hasattr(torch, 'left')",
)
UNSEEDED = ("torch.rand(1).item()", "float(numpy.random.rand())")


@contextmanager
def kernel(launch, monkeypatch, **named):
    monkeypatch.setattr(local_provisioner, "launch_kernel", launch)
    manager, client = start_new_kernel(kernel_name="python3", **named)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def ask(client, *expressions, code=SETUP):
    asked = {expression: expression for expression in expressions}
    reply = client.execute(code, user_expressions=asked, reply=True, timeout=60)["content"]
    assert reply["status"] == "ok", reply
    values = reply["user_expressions"]
    return {x: values[x]["data"]["text/plain"] for x in expressions}


def test_a_forked_kernel_is_as_one_that_was_started(monkeypatch, tmp_path):
    with kernel(launch_kernel, monkeypatch, cwd=tmp_path) as (_, client):
        started = ask(client, *SEEN)
    with kernel(forked_kernels.launch, monkeypatch, cwd=tmp_path) as (_, client):
        assert ask(client, "os.getppid()") == {"os.getppid()": str(forked_kernels.forking().pid)}
        unseeded = ask(client, *UNSEEDED)
        ask(client, code="torch.left = os.environ['LEFT'] = ''")
    monkeypatch.setenv("LATER", "1")
    with kernel(forked_kernels.launch, monkeypatch, cwd=tmp_path) as (_, client):
        assert ask(client, "os.environ.pop('LATER')") == {"os.environ.pop('LATER')": "'1'"}
        assert ask(client, *SEEN) == started
        assert started[BOOKS_OWN] == "set()"
        again = ask(client, *UNSEEDED)
        assert all(again[x] != unseeded[x] for x in UNSEEDED)


def test_a_forked_kernel_is_interrupted_and_its_death_is_seen(monkeypatch):
    with kernel(forked_kernels.launch, monkeypatch) as (manager, client):
        # Else the kernel drops what is asked for soon after an error.
        asked = client.execute("print('on')\nwhile True: pass", stop_on_error=False)
        while client.get_iopub_msg(timeout=60)["msg_type"] != "stream":
            pass
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=60)
        assert reply["parent_header"]["msg_id"] == asked
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        client.execute("import os; os.kill(os.getpid(), 9)")
        until = time.monotonic() + 60
        while manager.is_alive():
            assert time.monotonic() < until
        assert manager.provisioner.process.returncode == -9


def test_a_kernel_does_not_outlive_what_forked_it():
    """As it would be left behind by tests that are killed."""
    start = (
        "import forked_kernels, sys; from jupyter_client.manager import start_new_kernel; "
        "from jupyter_client.provisioning import local_provisioner as provisioner; "
        "provisioner.launch_kernel = forked_kernels.launch; "
        "manager, _ = start_new_kernel(kernel_name='python3'); "
        "print(manager.provisioner.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", start]
    environment = os.environ | {"PYTHONPATH": os.path.dirname(forked_kernels.__file__)}
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1) as tests:
        left = Path("/proc", tests.stdout.readline().decode().strip())
        assert (left / "cwd").exists()
        tests.kill()
    until = time.monotonic() + 60
    while left.exists():
        assert time.monotonic() < until
        time.sleep(0.1)
