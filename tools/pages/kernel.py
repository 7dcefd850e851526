"""How any kernel of ours runs: one thread, and one limit that only a cell that hangs reaches."""

import os

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


def sockets(folder: str) -> dict[str, str]:
    """Options of a kernel manager: sockets in `folder`, where there are such.

    Ports are found free and bound later; of many kernels that start at once, two would take one,
    and the second die.
    """
    return {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name == "posix" else {}
