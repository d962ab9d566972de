"""A real Slurm on this one machine, in a temporary folder: munged, slurmctld and slurmd as children of the test.

Debian's packages suffice: `apt install slurm-wlm munge`. Nothing of the system's own Slurm is read, written or stopped.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Debian keeps the daemons where only root looks.
PATH = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
MISSING = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
SECONDS = 30.0
# Without cgroups, accounting or MPI. A requeued job waits for the lifetime of a credential, 120 s by default. The
# partition `urgent` preempts `normal`, whose jobs get notice.
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={daemon_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=1
ReturnToService=2
KillWait=20
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=normal Nodes={host} Default=YES MaxTime=120 PriorityTier=1 GraceTime=20 State=UP
PartitionName=urgent Nodes={host} MaxTime=120 PriorityTier=2 PreemptMode=OFF State=UP
"""


@contextlib.contextmanager
def cluster() -> Iterator[dict[str, str]]:
    """The environment in which the Slurm commands, and the programs that call them, find this cluster."""
    assert not MISSING
    # Not pytest's folder: the path of a Unix socket has at most 107 characters.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, contextlib.ExitStack() as daemons:
        folder, host = Path(name), socket.gethostname().partition(".")[0]
        configure(folder, host)
        environment = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        start = functools.partial(daemon, daemons, environment, folder)
        files = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files)
        wait(lambda: (folder / "munge.socket").exists(), folder)
        start("slurmctld", "-D", "-i", "-f", f"{folder}/slurm.conf")
        start("slurmd", "-D", "-N", host, "-f", f"{folder}/slurm.conf")
        wait(lambda: ask(environment, "sinfo", "-h", "-p", "normal", "-o", "%T") == "idle", folder)
        try:
            yield environment
        finally:
            # The processes of a job are no children of the daemons: Slurm itself must end them.
            ask(environment, "scancel", "--user", getpass.getuser())
            wait(lambda: ask(environment, "squeue", "-h") == "", folder)


def configure(folder: Path, host: str) -> None:
    """slurm.conf and what it names."""
    folder.chmod(0o755)  # munged insists that everybody could reach its socket
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    (folder / "munge.key").touch(0o600)
    (folder / "munge.key").write_bytes(os.urandom(128))
    one, other = free_ports()
    user = getpass.getuser()
    conf = CONF.format(folder=folder, host=host, user=user, controller_port=one, daemon_port=other)
    (folder / "slurm.conf").write_text(conf)


def free_ports() -> list[int]:
    """Two ports of this machine that nobody listens on."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return [first.getsockname()[1], second.getsockname()[1]]


def daemon(
    daemons: contextlib.ExitStack, environment: dict[str, str], folder: Path, program: str, *arguments: str
) -> None:
    """Start a program in the foreground, its messages in the folder; it is ended with the cluster."""
    path = shutil.which(program, path=PATH)
    assert path is not None
    with (folder / f"{program}.log").open("wb") as log:
        # A Ctrl-C is for the tests, which then still ask Slurm to end the jobs.
        process = subprocess.Popen(
            [path, *arguments], env=os.environ | environment, stdout=log, stderr=log, start_new_session=True
        )
    daemons.enter_context(process)  # waited for at the end
    daemons.callback(process.terminate)


def ask(environment: dict[str, str], *command: str) -> str:
    """What a Slurm command prints; nothing if it fails."""
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def wait(condition: Callable[[], bool], folder: Path) -> None:
    """Wait until it holds; the daemons' messages if it never does."""
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(f"{path.name}:\n{path.read_text()[-2000:]}" for path in sorted(folder.glob("*.log")))
            raise AssertionError(f"Slurm does not answer\n{logs}")
        time.sleep(0.05)
