"""Sweeps on a cluster: one job array, through submitit (the extra `slurm`).

engine       what each job is given
driving      the jobs of a sweep: submitted, watched, tried again, cancelled
queue        what Slurm says of them, and which of them is which run
submission   job arrays through submitit
attempt      what a job does on its node
"""

from regulargpt.sweep.slurm.engine import SlurmEngine

__all__ = ["SlurmEngine"]
