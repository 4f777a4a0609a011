"""Random simulation: schedules of console lines drawn from a seed, run with all invariants on, and shrunk when one
shows a bug.

    make sim SEED=7           one schedule, its script and what became of it
    make sim RUNS=2000        numbered seeds, on all cores

A schedule is a script of the shell grammar, so what fails is played again by `manage.py play` and in the page's
console, line by line.
"""
