"""How long anything that runs notebooks waits for a kernel: as long as it lives.

Each of these is there against waiting for ever. A starved machine may take any time for any step,
so none may be short: nbclient's own would end a kernel that takes a minute to start, and would go
on without the output that comes more than four seconds after the reply.
"""

CELL_SECONDS = 3600  # of any clock: only a cell that hangs takes so long
NBCLIENT = {
    "timeout": CELL_SECONDS,
    "startup_timeout": CELL_SECONDS,
    "iopub_timeout": CELL_SECONDS,
    "raise_on_iopub_timeout": True,
}
