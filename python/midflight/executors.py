"""Executors of the shards of a sweep: this process, a Dask cluster, or Slurm jobs.

All of them give the same tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from midflight.refusal import refusal
from midflight.sweep import Progress, Shard, Sweep

__all__ = ["run_dask", "run_local", "run_slurm"]

#: Shards that wait at the scheduler for each thread of the cluster.
WAITING = 2
#: Default parameters of a Slurm job; submitit's own five minutes are too few.
JOB = {"timeout_min": 12 * 60}


def run_local(
    sweep: Sweep,
    folder: Path,
    shards: list[Shard],
    *,
    threads: int = 0,
    progress: Progress | None = None,
) -> None:
    """Run shards one after the other and keep their tables in the sweep's folder.

    Each runs on `threads` threads, 0 for one on each processor. `progress` is called with the
    numbers of finished and of all cells.
    """
    total = sum(len(shard.cells) for shard in shards)
    done = 0
    for shard in shards:

        def report(runs: int, of: int, shard: Shard = shard, before: int = done) -> None:
            if progress is not None:
                progress(before + len(shard.cells) * runs // max(of, 1), total)

        tables = sweep.run_shard(shard, threads=threads, progress=report)
        sweep.keep(folder, shard, tables)
        done += len(shard.cells)
        if progress is not None:
            progress(done, total)


def run_dask(
    sweep: Sweep,
    folder: Path,
    shards: list[Shard],
    *,
    address: str | None = None,
    progress: Progress | None = None,
    cluster: Any = None,
) -> None:
    """Run shards on the Dask cluster at this address, or on one of this machine's processors.

    Workers need midflight and no common folder: tables come back and are written here. Needs the
    extra `dask`. `cluster` is your own cluster instead of an address; `progress` is called with the
    numbers of finished and of all cells.
    """
    from distributed import Client, LocalCluster, as_completed

    own = None
    if address is None and cluster is None:
        own = cluster = LocalCluster(threads_per_worker=1, dashboard_address=None)
    total = sum(len(shard.cells) for shard in shards)
    done = 0
    try:
        with Client(address or cluster) as client:
            slots = sum(client.nthreads().values()) or 1
            waiting = iter(shards)

            def submit(shard: Shard) -> Any:
                future = client.submit(sweep.run_shard, shard, threads=1, pure=False)
                of[future.key] = shard
                return future

            of: dict[Any, Shard] = {}
            queue = as_completed([submit(shard) for shard in islice(waiting, WAITING * slots)])
            for future in queue:
                shard = of.pop(future.key)
                sweep.keep(folder, shard, future.result())
                done += len(shard.cells)
                if progress is not None:
                    progress(done, total)
                for another in islice(waiting, 1):
                    queue.add(submit(another))
    finally:
        if own is not None:
            own.close()


def share_of(folder: str, i: int, n: int, policies: Any) -> int:
    """Run every n-th missing shard of a sweep's folder from the i-th on; return how many."""
    found = Sweep.read(Path(folder), policies=policies)
    shards = found.missing(Path(folder), (i, n))
    run_local(found, Path(folder), shards)
    return len(shards)


def run_slurm(
    sweep: Sweep,
    folder: Path,
    shards: list[Shard],
    *,
    jobs: int,
    cluster: str = "slurm",
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    wait: Callable[[float], None] | None = None,
) -> None:
    """Run a sweep as jobs of Slurm; each job runs its share of the missing shards.

    All nodes must have access to the folder. `options` are submitit's, such as `slurm_partition`,
    `timeout_min` (default 720), `mem_gb` or `slurm_account`; raises `MidflightError` for others.
    Jobs continue when this program is stopped; run it again to collect their results. Needs the
    extra `slurm`. `cluster` is also submitit's; `wait` is the function that sleeps some seconds
    between two queries of the jobs.
    """
    import submitit

    total = sum(len(shard.cells) for shard in shards)
    try:
        executor = submitit.AutoExecutor(folder=folder / "slurm", cluster=cluster)
        executor.update_parameters(name="midflight", **JOB | dict(options or {}))
    except (RuntimeError, NameError, AssertionError, ValueError, TypeError) as error:
        raise refusal(
            f"the options of Slurm jobs are invalid: {error}",
            name="options",
            value=dict(options or {}),
            accepted="what submitit's AutoExecutor.update_parameters takes",
        ) from error
    count = min(jobs, len(shards))
    # Shares are of all shards by number, so that no two jobs have one in common.
    with executor.batch():
        submitted = [
            executor.submit(share_of, str(folder), i, count, sweep.policies) for i in range(count)
        ]
    print(
        f"midflight: {count} jobs: {', '.join(str(job.job_id) for job in submitted)}",
        file=sys.stderr,
    )
    import time

    pause = wait or time.sleep
    while not all(job.done() for job in submitted):
        pause(1.0)
        if progress is not None:
            progress(total - min(sweep.waiting(folder), total), total)
    for job in submitted:
        job.result()
