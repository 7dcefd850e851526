"""What one update of one network costs: the page's cell and its peers, in processor time."""

import ast
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import jupytext
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bench.measure import Job, Spread, cost, in_turns, table
from tools.repository import ROOT

PAGE = ROOT / "book" / "worked-example.md"  # whose cell is measured
ROUNDS, UPDATES = 9, 4
RATE = 0.05
CLOSE = 1e-3  # of what the updates moved
TANH, BY_SIGMOID = "torch.tanh(", "tanh_by_sigmoid("
CELL, SIGMOID = "the page's cell", "the cell with tanh as 2σ(2z) − 1"
PRODUCTS, BATCH = "its products alone (`torch.bmm`)", "a fresh batch (not in the other rows)"
JAX, UNROLLED = "JAX", "JAX, all steps unrolled"
ONE, LIBRARY = "the page's cell, one network", "`nn.RNN`, one network"
RATIOS = (
    (CELL, JAX),
    (CELL, UNROLLED),
    (SIGMOID, JAX),
    (SIGMOID, UNROLLED),
    (LIBRARY, CELL),
    (LIBRARY, ONE),
    (PRODUCTS, CELL),
    (PRODUCTS, SIGMOID),
)

PLAIN = ast.Constant, ast.Tuple, ast.expr_context  # what a constant is written with
Parameters = dict[str, Tensor]
Page = dict[str, Any]  # what a page defines, by name
Batch = tuple[Tensor, Tensor]  # x (T, S, n, d_x), y (S, n)


@dataclass(frozen=True)
class Task:
    """Which batches the networks learn from."""

    T: int  # steps
    width: int  # of the window that decides
    n: int  # sequences for each network and update

    def __str__(self) -> str:
        return f"T = {self.T}, {self.n} sequences"


TASKS = Task(12, 4, 64), Task(12, 4, 128), Task(60, 55, 64), Task(60, 55, 128)


@dataclass(frozen=True)
class Peer:
    """A program that trains the task's networks, or the first of them, from the same start."""

    name: str
    networks: int
    train: Job  # UPDATES more updates, on the same batches each time
    parameters: Callable[[], Parameters]  # as they are now: each (networks, ...)


@dataclass(frozen=True)
class Measured:
    """What a task's rounds gave."""

    task: Task
    milliseconds: dict[str, list[float]]  # of each job, for one network and update, each round
    compiling: dict[str, float]  # seconds of processor time before the first update


def definitions(text: str, **names: object) -> Page:
    """What a page's text defines: functions, classes, imports, constants; the rest is not run."""
    page: Page = {"__name__": "page", **names}
    for cell in jupytext.reads(text, fmt="md:myst").cells:
        for node in ast.parse(cell.source).body if cell.cell_type == "code" else []:
            if is_definition(node):
                exec(compile(ast.Module([node], []), str(PAGE), "exec"), page)
    return page


def is_definition(node: ast.stmt) -> bool:
    """Whether a statement computes nothing; what the course's own tools give is not needed."""
    match node:
        case ast.ImportFrom():
            return not (node.module or "").startswith("tools")
        case ast.Assign(targets=[ast.Name() | ast.Tuple()]):
            return all(isinstance(part, PLAIN) for part in ast.walk(node.value))
    return isinstance(node, ast.Import | ast.FunctionDef | ast.ClassDef)


def tanh_by_sigmoid(z: Tensor) -> Tensor:
    """tanh(z), by a function that torch computes faster."""
    return 2 * torch.sigmoid(2 * z) - 1


def copies(start: Parameters, networks: int) -> Parameters:
    """The first networks' own parameters, ready to train."""
    return {name: v[:networks].detach().clone().requires_grad_() for name, v in start.items()}


def cell_peer(
    name: str, page: Page, start: Parameters, batches: list[Batch], networks: int
) -> Peer:
    """The cell of a page, updated as the page does it."""
    p = copies(start, networks)
    opt = page["SGD"](p.values(), lr=RATE)
    own = [(x[:, :networks].contiguous(), y[:networks]) for x, y in batches]

    def train() -> None:
        for x, y in own:
            page["losses"](p, x, y).sum().backward()
            opt.step()
            opt.zero_grad()

    return Peer(name, networks, train, lambda: p)


def library_peer(page: Page, start: Parameters, batches: list[Batch]) -> Peer:
    """The page's nn.RNN as the first network; its two further biases stay at zero."""
    model = page["Classifier"]()
    rnn, head = model.rnn, model.head
    p = {"Wx": rnn.weight_ih_l0, "Wh": rnn.weight_hh_l0, "b": rnn.bias_ih_l0, "Wy": head.weight}
    for name, v in p.items():
        v.data.copy_(start[name][0].reshape(v.shape))
    for v in rnn.bias_hh_l0, head.bias:
        v.requires_grad_(False).zero_()
    opt = page["SGD"](p.values(), lr=RATE)
    own = [(x[:, 0].transpose(0, 1).contiguous(), y[0]) for x, y in batches]

    def train() -> None:
        for x, y in own:
            binary_cross_entropy_with_logits(model(x), y).backward()
            opt.step()
            opt.zero_grad()

    return Peer(LIBRARY, 1, train, lambda: {k: v.view(start[k][:1].shape) for k, v in p.items()})


def jax_peer(name: str, start: Parameters, batches: list[Batch], unroll: int) -> Peer:
    """All networks in JAX."""
    import jax
    import numpy as np

    from bench.peer_in_jax import sgd

    update = sgd(RATE, unroll)
    p = {k: jax.numpy.asarray(v.detach().numpy()) for k, v in start.items()}
    own = [(jax.numpy.asarray(x.numpy()), jax.numpy.asarray(y.numpy())) for x, y in batches]

    def train() -> None:
        for x, y in own:
            p.update(update(p, x, y))
        jax.block_until_ready(p)

    def parameters() -> Parameters:
        return {k: torch.from_numpy(np.array(v)) for k, v in p.items()}

    return Peer(name, len(start["Wh"]), train, parameters)


def products(start: Parameters, task: Task) -> Job:
    """The matrix products of UPDATES updates and nothing else: two forward, three backward."""
    S, d_h, d_x = start["Wx"].shape
    x, h = torch.randn(S, task.n, d_x), torch.randn(S, task.n, d_h)
    dz, state = torch.randn_like(h), torch.empty_like(h)
    Wx, Wh = start["Wx"].detach(), start["Wh"].detach()
    dWx, dWh = torch.empty_like(Wx), torch.empty_like(Wh)

    def multiply() -> None:
        for _ in range(UPDATES * task.T):
            torch.bmm(x, Wx.mT, out=state)
            torch.bmm(h, Wh.mT, out=state)
            torch.bmm(dz, Wh, out=state)
            torch.bmm(dz.mT, h, out=dWh)
            torch.bmm(dz.mT, x, out=dWx)

    return multiply


def refuse_others(peers: list[Peer], start: Parameters) -> None:
    """End where a peer has learnt something else than the first.

    That all parameters moved alike proves the losses' gradients and the updates at once.
    """
    wanted = peers[0].parameters()
    for peer in peers:
        for name, found in peer.parameters().items():
            ours, before = (p[name][: peer.networks].detach() for p in (wanted, start))
            moved, off = (ours - before).abs().max(), (found.detach() - ours).abs().max()
            if not off <= CLOSE * moved or moved == 0:
                sys.exit(
                    f"bench: {peer.name} computes something else than {peers[0].name}: after the"
                    f" same updates {name} is {off:.2g} away, where the updates moved it by"
                    f" {moved:.2g}. Mend it: only the same computation can be compared."
                )


@contextmanager
def one_core() -> Iterator[None]:
    """All threads that are started here share one core, where the system can promise it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def peers_of(text: str, start: Parameters, batches: list[Batch], task: Task) -> list[Peer]:
    """All programs that are compared, the page's own first."""
    page = definitions(text)
    other = definitions(text.replace(TANH, BY_SIGMOID), tanh_by_sigmoid=tanh_by_sigmoid)
    S = len(start["Wh"])
    return [
        cell_peer(CELL, page, start, batches, S),
        cell_peer(SIGMOID, other, start, batches, S),
        jax_peer(JAX, start, batches, unroll=1),
        jax_peer(UNROLLED, start, batches, unroll=task.T),
        cell_peer(ONE, page, start, batches, 1),
        library_peer(page, start, batches),
    ]


def measure(text: str, task: Task) -> Measured:
    """All peers on one task, after they were seen to compute the same."""
    page, g = definitions(text), torch.Generator().manual_seed(0)
    S = page["S"]

    def batch() -> Batch:
        return page["make_batch"]((S, task.n), task.T, task.width, g)

    start, batches = page["init_params"](S, g), [batch() for _ in range(UPDATES)]
    peers = peers_of(text, start, batches, task)
    first = {peer.name: cost(peer.train).processor for peer in peers}
    refuse_others(peers, start)
    jobs = {peer.name: peer.train for peer in peers}
    jobs |= {
        PRODUCTS: products(start, task),
        BATCH: lambda: [batch() for _ in range(UPDATES)],
    }
    networks = {PRODUCTS: S, BATCH: S} | {peer.name: peer.networks for peer in peers}
    costs = in_turns(jobs, ROUNDS)
    return Measured(
        task,
        {
            name: [1000 * c.processor / UPDATES / networks[name] for c in rounds]
            for name, rounds in costs.items()
        },
        {name: first[name] for name in (JAX, UNROLLED)},
    )


def ratio(found: Measured, above: str, below: str) -> Spread:
    """How many times as long one job takes as another in the same round."""
    pairs = zip(found.milliseconds[above], found.milliseconds[below], strict=True)
    return Spread.of([a / b for a, b in pairs])


def page_text() -> str:
    """The page's source; its cell must call tanh as it is looked for here."""
    text = PAGE.read_text(encoding="utf-8")
    if TANH not in text:
        sys.exit(f"bench: {PAGE.name} has no {TANH}...); mend TANH in bench/training.py")
    return text


def tables(found: list[Measured]) -> tuple[str, str, str]:
    """Times, ratios, and JAX's compiling, a column for each task."""
    heads = ["", *(str(each.task) for each in found)]
    times = [
        [name, *(Spread.of(each.milliseconds[name]) for each in found)]
        for name in found[0].milliseconds
    ]
    ratios = [
        [f"{above} / {below}", *(ratio(each, above, below) for each in found)]
        for above, below in RATIOS
    ]
    compiling = [
        [name, *(f"{each.compiling[name]:.1f}" for each in found)] for name in found[0].compiling
    ]
    return table(heads, times), table(heads, ratios), table(heads, compiling)


def report() -> str:
    """The section on training."""
    torch.set_num_threads(1)
    text = page_text()
    with one_core():
        times, ratios, compiling = tables([measure(text, task) for task in TASKS])
    return f"""## Training: milliseconds of processor time for one network and one update

Forward, backward and a plain gradient step, in float32, with the cell of the page {PAGE.stem}:
medians of {ROUNDS} rounds in turns (and their range). Where no row says otherwise 32 networks train
at once. All threads share one core. Before anything was timed, all peers made the same {UPDATES}
updates from the same start on the same batches, and came to the same parameters.

{times}

Times as long, in the same round. The products' row is the part of a step that the machine's own
batched product would need for the same shapes.

{ratios}

Seconds of processor time until JAX {version("jax")} has compiled and made its first {UPDATES}
updates, once a task:

{compiling}
"""
