"""Run an exercise's tests on other answers: the known wrong and right ones, the solution, any seed.

    python -m tools.exercises.variants [MASTER ...]
        a table: what each variant loses, and with which message
    python -m tools.exercises.variants --seeds 300 [MASTER ...]
        the solution with SEED = 0 … 299: no test may fail by luck

Each run is a forked child of one process that has torch loaded, in one namespace, in an empty
folder, killed when it uses too much processor time (tools/grading/usage.py). Cells run as in the
notebook; only `:solution:` cells are left out.

A variant changes one answer. A test that, when the solution ran, read no global name which that
change touches would do the same again, so its message is taken from the solution's run (see `Names`
and `run_cells`; --whole runs all). What passes from cell to cell by another way than a global name
is not seen: so tests must draw from generators of their own, and nobody patches modules.
"""

import argparse
import ast
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.exercises.master import MASTERS, MasterError, read_master, student_source
from tools.grading.sandbox import not_here
from tools.grading.usage import POLL, Usage
from tools.repository import ROOT

SECONDS = 120  # of processor time, for one run


# ---------------------------------------------------------------- asking


def program(master, answers=None, seed=0, untouched=False):
    """The cells that grading runs, as [kind, id, source]; `answers` {id: source} replace others."""
    cells = []
    for cell in master.of("given", "answer", "test"):
        right = student_source(cell) if untouched else master.answers.get(cell.id, cell.source)
        source = (answers or {}).get(cell.id, right) if cell.kind == "answer" else cell.source
        if cell.id == "setup" and seed:
            source = source.replace("SEED = 0", f"SEED = {seed}", 1)
        cells.append([cell.kind, cell.id, source])
    return cells


def run(programs, seconds=SECONDS, jobs=None, each=lambda index, result: None, bases=None):
    """One {test id: None or what it said} a program; `each` hears of every result as it comes.

    bases[i] is the index of the program whose results program i may take over where they must be
    the same, or None.
    """
    jobs = min(jobs or os.cpu_count() or 1, max(len(programs), 1))
    command = [
        sys.executable,
        "-m",
        "tools.exercises.variants",
        "--serve",
        "--seconds",
        str(seconds),
        "--jobs",
        str(jobs),
    ]
    env = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    results = [None] * len(programs)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as todo:
        todo.writelines(
            json.dumps(line) + "\n" for line in zip(bases or [None] * len(programs), programs)
        )
        todo.seek(0)
        with subprocess.Popen(
            command, stdin=todo, stdout=subprocess.PIPE, encoding="utf-8", env=env, cwd=ROOT
        ) as server:
            for line in server.stdout:
                index, results[index] = json.loads(line)
                each(index, results[index])
    if server.returncode or None in results:
        raise RuntimeError(
            f"the process that runs the variants ended early (exit code {server.returncode})"
        )
    return results


# ---------------------------------------------------------------- the process with torch loaded


def serve(seconds, jobs):
    """Read [base, program] a line, write [index, result] a line; `jobs` children at a time."""
    import matplotlib.pyplot  # noqa: F401  loaded once, inherited by every child
    import torch
    import torch._dynamo  # noqa: F401  takes seconds, which the first optimiser of a child would

    torch.set_num_threads(1)
    waiting = [(index, *json.loads(line)) for index, line in enumerate(sys.stdin)]
    known = {None: {}}  # {index of a program that has run: {cell id: what it did}}
    bases = {base for _, base, _ in waiting}
    waiting.sort(key=lambda program: program[0] not in bases)
    running = selectors.DefaultSelector()
    while waiting or running.get_map():
        ready = [program for program in waiting if program[1] in known]
        for index, base, cells in ready[: jobs - len(running.get_map())]:
            waiting.remove((index, base, cells))
            child = Child(index, cells, known[base], seconds)
            running.register(child.pipe, selectors.EVENT_READ, child)
        for key, _ in running.select(timeout=POLL):
            key.data.read()
        for key in list(running.get_map().values()):
            if key.data.over():
                running.unregister(key.fileobj)
                known[key.data.index] = key.data.done() if key.data.index in bases else {}
                print(json.dumps([key.data.index, key.data.result()]), flush=True)


class Child:
    """One program in a forked process of its own process group."""

    def __init__(self, index, cells, known, seconds):
        self.index, self.cells, self.seconds = index, cells, seconds
        self.said, self.ended, self.late = b"", False, ""
        self.pipe, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            child_main(cells, known, write)
        os.close(write)
        self.usage, self.look = Usage(self.pid), time.monotonic() + POLL

    def read(self):
        """Take what it has said; nothing means that it has ended."""
        chunk = os.read(self.pipe, 65536)
        self.said += chunk
        self.ended = not chunk

    def over(self):
        """True when it has ended, or had to be killed; nothing of it is left then."""
        if not self.ended and time.monotonic() > self.look:
            self.late = self.usage.read().over(self.seconds)
            self.look = time.monotonic() + POLL
        if not (self.ended or self.late):
            return False
        if self.late:
            self.usage.kill()
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        return True

    def done(self):
        """{cell id: [kind, source, message, names read, names written]} of what has run."""
        lines = [json.loads(line) for line in self.said.split(b"\n")[:-1]]
        return {line[0]: line[1:] for line in lines}

    def result(self):
        """{test id: None or what it said}."""
        done = self.done()
        why = f"Stopped: {self.late}." if self.late else "The process died."
        return {
            id: done[id][2] if id in done else why for kind, id, _ in self.cells if kind == "test"
        }


def child_main(cells, known, write):
    """Run the cells and never return.

    Writes a line for each: [cell id, kind, source, message, names read, names written].
    """

    def tell(*line):
        os.write(write, json.dumps(line).encode() + b"\n")

    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in 0, 1, 2:
        os.dup2(nowhere, fd)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if not run_cells(cells, known, tell):
            run_cells(cells, {}, tell)
    os._exit(0)


def run_cells(cells, known, tell):
    """Run the cells but for the tests whose outcome is known from a run of other answers.

    `dirty` holds the names that may mean another thing than in that run: what a changed cell
    writes, then or now, and what a cell writes that reads such a name. A test that read none of
    them, and wrote nothing that a later cell read, is not run again. Returns False, to begin anew
    and skip nothing, if an answer reads what such a test would have written.
    """
    names, dirty, unwritten = Names(__name__="__main__"), set(), set()
    read_later = {
        id: set().union(*(done[3] for done in list(known.values())[n + 1 :]))
        for n, id in enumerate(known)
    }
    for kind, id, source in cells:
        _, old_source, old_message, old_read, old_wrote = known.get(id, [None] * 5)
        if (
            kind == "test"
            and id in known
            and not dirty & {*old_read}
            and not read_later[id] & {*old_wrote}
        ):
            unwritten |= {*old_wrote}
            tell(id, kind, source, old_message, old_read, old_wrote)
            continue
        names.begin()
        message = run_cell(source, id, names)
        read, wrote = names.end(source)
        if read & unwritten:
            return False
        unwritten -= wrote
        if id not in known or source != old_source or read & dirty:
            dirty |= wrote | {*(old_wrote or [])}
        tell(id, kind, source, message, sorted(read), sorted(wrote))
    return True


class Names(dict):
    """A namespace that notes which names a cell, or what it calls, reads and writes.

    Of those it reads, only what it has not written before.
    """

    def begin(self):
        """From here on the notes are of the next cell."""
        self.read, self.wrote, self.before = set(), set(), dict(self)

    def end(self, source):
        """(names read, names written) since `begin` by the cell `source`."""
        self.wrote |= {
            name for name in {*self, *self.before} if self.get(name) is not self.before.get(name)
        }
        try:  # a class body reads globals behind __getitem__'s back
            classes = [
                node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)
            ]
        except SyntaxError:
            classes = []
        of_classes = {
            n.id for c in classes for n in ast.walk(c) if isinstance(n, ast.Name)
        } - self.wrote
        return self.read | of_classes, self.wrote - {"__builtins__"}

    def __getitem__(self, name):
        if name not in self.wrote:
            self.read.add(name)
        return super().__getitem__(name)

    def __setitem__(self, name, value):
        self.wrote.add(name)
        super().__setitem__(name, value)


def run_cell(source, id, namespace):
    """None, or what the exception said."""
    try:
        exec(compile(source, f"<{id}>", "exec"), namespace)
    except BaseException as error:  # a student's cell may raise anything
        return what_it_says(error)


def what_it_says(error):
    """The line that a student reads last."""
    if hasattr(error, "_render_traceback_"):
        return "\n".join(error._render_traceback_())
    return str(error) if type(error) is AssertionError else f"{type(error).__name__}: {error}"


# ---------------------------------------------------------------- what a master promises


def promises(master):
    """[(name, program, check)]: check(result) is None, or what is not as the master says."""
    runs = [
        ("solution", program(master), loses_nothing),
        ("untouched", program(master, untouched=True), says_not_attempted),
    ]
    for n, cell in enumerate(master.of("wrong", "right"), 1):
        check = (
            loses_nothing
            if cell.kind == "right"
            else (lambda got, cell=cell: loses_as_said(got, cell))
        )
        runs.append(
            (
                f"{cell.kind} {cell.id}: {cell.why or n}",
                program(master, {cell.id: cell.source}),
                check,
            )
        )
    return runs


def lost(result):
    return {id: said for id, said in result.items() if said is not None}


def loses_nothing(result):
    return f"should get full marks, but {lost(result)}" if lost(result) else None


def says_not_attempted(result):
    other = {
        id: said
        for id, said in result.items()
        if not (said or "").startswith("Not attempted yet: ")
    }
    return f"should say only 'Not attempted yet: …', but {other}" if other else None


def loses_as_said(result, cell):
    if set(lost(result)) != set(cell.loses):
        return f"should lose {sorted(cell.loses)}, but loses {lost(result) or 'nothing'}"
    silent = [s for s in cell.says if not any(s in said for said in lost(result).values())]
    return f"should say {silent}, but says {lost(result)}" if silent else None


def check_masters(masters, seconds=SECONDS, jobs=None, say=lambda line: None, whole=False):
    """Every promise of the masters; returns [(master name, run name, result, fault or None)].

    `whole` runs each test for each variant, also where the solution's run says what will come.
    """
    runs, bases = [], []
    for master in masters:
        first, *rest = [(master.name, *promise) for promise in promises(master)]
        bases += [None, *[None if whole else len(runs)] * len(rest)]
        runs += [first, *rest]
    done = [None] * len(runs)

    def each(index, result):
        name, run_name, _, check = runs[index]
        done[index] = (name, run_name, result, check(result))
        say(done[index])

    run([p for _, _, p, _ in runs], seconds, jobs, each, bases)
    return done


def check_seeds(masters, seeds, seconds=SECONDS, jobs=None, say=lambda line: None):
    """[(master name, seed, {test: message})] where the solution failed."""
    runs = [(m, seed) for m in masters for seed in range(seeds)]
    failures = []

    def each(index, result):
        master, seed = runs[index]
        if lost(result):
            failures.append((master.name, seed, lost(result)))
            say(failures[-1])

    run([program(m, seed=seed) for m, seed in runs], seconds, jobs, each)
    return failures


# ---------------------------------------------------------------- the command line


def show(done):
    name, run_name, result, fault = done
    print(f"{'FAULT' if fault else 'ok   '}  {name}  {run_name}")
    for id, said in lost(result).items():
        print(f"           {id}: {said}")
    if fault:
        print(f"        -> {fault}")
    sys.stdout.flush()


def main(argv=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("masters", nargs="*", type=Path, metavar="MASTER")
    p.add_argument("--seeds", type=int, default=0)
    p.add_argument("--seconds", type=float, default=SECONDS, help="processor time of one run")
    p.add_argument("--jobs", type=int)
    p.add_argument(
        "--whole",
        action="store_true",
        help="run every test, also those that cannot tell a variant from the solution",
    )
    p.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    if not_here():
        print(not_here(), file=sys.stderr)
        return 2
    if a.serve:
        return serve(a.seconds, a.jobs)
    try:
        masters = [read_master(m) for m in a.masters or sorted(MASTERS.glob("*.md"))]
    except MasterError as error:
        sys.exit(str(error))
    start = time.monotonic()
    if a.seeds:
        faults = check_seeds(masters, a.seeds, a.seconds, a.jobs, say=print)
    else:
        faults = [d for d in check_masters(masters, a.seconds, a.jobs, show, a.whole) if d[3]]
    print(f"{len(faults)} faults, {time.monotonic() - start:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
