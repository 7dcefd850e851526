"""What makes, compares and grades the course's notebooks."""

import sys

for stream in (sys.stdout, sys.stderr):
    if hasattr(stream, "reconfigure"):  # a kernel's has none
        # Results hold ±, and students' names anything, whatever the machine's locale.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
