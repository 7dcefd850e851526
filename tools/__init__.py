"""What makes, compares and grades the course's notebooks."""

CELL_SECONDS = 3600  # a cell that runs longer is stopped: it hangs; no busy machine gets there
