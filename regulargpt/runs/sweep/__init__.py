"""Sweeps: a longer list of the same run configs, of which a rerun does what is missing.

values    what the command line says of a field: `2,3,4`, `0-2,7`
grid      languages x models x recipes x values -> configs
names     a config -> the name of its run
folder    where a sweep lies, and how far each of its runs has come
worker    one run: done, resumed, or recorded as a failure
serve     a process that works on run after run
engine    what runs many of them
local     on this machine
process   its workers
gpus      the GPUs of this machine
slurm     on a cluster
driver    all of it: validated, locked, run, gathered
"""
