"""Sweeps on a cluster: job arrays, through submitit (the extra `slurm`), which requeues them with their state.

engine    the jobs of a sweep: submitted, watched, reported, cancelled
queue     what Slurm says of them
attempt   what a job does on its node
"""
