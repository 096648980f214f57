#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Efficiency of shoal-mpi on many nodes, on paper: measured costs, simulated ranks.

    shoal query --systems-table RESULT.h5 > systems.csv
    tests/bench/nodes.py systems.csv [--longer 10000] [--systems 1000000]

The systems of a large sweep are drawn from those of a real one, with `longer` times their steps; or, without a file,
their costs are spread evenly in the logarithm over a factor of 100. Ranks of one core draw shards from a counter; a
shard costs what its systems cost while so many of them still run (docs/performance.md, "Few and many systems"), and its
beginning and end. At the end one rank merges. Efficiency: the time of one core at its full rate, over cores times the
time of the job.
"""
import argparse
import csv
import heapq
import random

CORES = 16  # of a node, a rank each
# mvs-2p: ns of a step of all systems that run, by their number; of more, ns of each
FEW = ((1, 112), (4, 108), (8, 224), (16, 235))
EACH = 14.7
SHARD = 0.02  # s: open, plan, sync, write; 5 ms of them are CPU time
A_RANK = (1, 4, 16, 32)  # shards, of which the table has columns
DRAW = 0.001  # s: until rank 0 answers
MERGE_SHARD, MERGE_SYSTEM = 1e-3, 12e-6  # s


def step_ns(running):
    for most, ns in FEW:
        if running <= most:
            return ns
    return EACH * running


def shard_seconds(steps):
    """Systems advance together; those that end leave, and the rest goes on."""
    ns, before = 0.0, 0
    for k, s in enumerate(sorted(steps)):
        if s > before:
            ns += (s - before) * step_ns(len(steps) - k)
            before = s
    return 1e-9 * ns + SHARD


def job_seconds(steps, ranks, shards):
    free = [0.0] * ranks
    for shard in range(shards):
        began = heapq.heappop(free) + DRAW
        heapq.heappush(free, began + shard_seconds(steps[shard::shards]))
    return max(free) + (MERGE_SHARD * shards + MERGE_SYSTEM * len(steps) if shards > 1 else 0)


def chosen(systems, ranks):
    """How many shards shoal-mpi cuts of so many systems (core/report/shards.c)."""
    few = max(ranks, min(systems // 32, 4 * ranks))
    cut = max(few, min(systems // 256, 32 * ranks))
    return cut - cut % ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("table", nargs="?", help="the systems table of a sweep, as CSV")
    parser.add_argument("--longer", type=float, default=10000, help="how many times its steps")
    parser.add_argument("--systems", type=int, default=1000000)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 4, 16, 64])
    options = parser.parse_args()
    numbers = random.Random(1)
    if options.table:
        with open(options.table, newline="", encoding="utf-8") as table:
            seen = [float(row["steps"]) for row in csv.DictReader(table)]
        steps = [options.longer * numbers.choice(seen) for _ in range(options.systems)]
    else:
        steps = [options.longer * 40000 * 100 ** -numbers.random() for _ in range(options.systems)]
    alone = 1e-9 * EACH * sum(steps)
    print(f"{len(steps)} systems, {alone / 3600:.0f} hours of a core, {CORES} cores a node")
    print("| nodes | time of one core / cores, s | " + " | ".join(f"{n} a rank" for n in A_RANK) + " | chosen |")
    for nodes in options.nodes:
        ranks = nodes * CORES
        cuts = [n * ranks for n in A_RANK] + [chosen(len(steps), ranks)]
        shares = (alone / ranks / job_seconds(steps, ranks, n) for n in cuts)
        print(f"| {nodes} | {alone / ranks:.0f} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")


if __name__ == "__main__":
    main()
