"""How kernels of ours run: one thread each, a limit that only hanging reaches, so many at once."""

import asyncio
import os
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")

CELL_SECONDS = 3600  # of any clock: a starved machine may take any time for any step
NBCLIENT = {  # nbclient's own limits would end a kernel that takes a minute to start
    "timeout": CELL_SECONDS,
    "startup_timeout": CELL_SECONDS,
    "iopub_timeout": CELL_SECONDS,
    "raise_on_iopub_timeout": True,
}
# Sums are added in another order by another number of threads, so single numbers depend on it.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


async def at_once(jobs: Iterable[Awaitable[T]], limit: int | None = None) -> list[T]:
    """What the jobs give, in their order; as many are at work as there are cores, or `limit`."""
    free = asyncio.Semaphore(limit or os.cpu_count() or 1)

    async def one(job: Awaitable[T]) -> T:
        async with free:
            return await job

    return await asyncio.gather(*map(one, jobs))


def sockets(folder: str) -> dict[str, str]:
    """Options of a kernel manager: sockets in `folder`, where there are such.

    Ports are found free and bound later; of many kernels that start at once, two would take one,
    and the second die.
    """
    return {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name == "posix" else {}
