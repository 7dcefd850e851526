"""The page's task as a user of JAX would write it: one network, mapped over many, compiled."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

Parameters = dict[str, Array]
Update = Callable[[Parameters, Array, Array], Parameters]


def loss(p: Parameters, x: Array, y: Array, unroll: int) -> Array:
    """Cross-entropy of one network, in nats: x (T, n, d_x), y (n,), `unroll` steps at a time."""

    def step(h: Array, x_t: Array) -> tuple[Array, None]:
        return jnp.tanh(x_t @ p["Wx"].T + h @ p["Wh"].T + p["b"]), None

    start = jnp.zeros((x.shape[1], p["Wh"].shape[-1]))
    h, _ = lax.scan(step, start, x, unroll=unroll)
    z = (h @ p["Wy"].T).squeeze(-1)
    return (jnp.logaddexp(0, z) - y * z).mean()


def losses(p: Parameters, x: Array, y: Array, unroll: int) -> Array:
    """The sum of the losses of S networks: x (T, S, n, d_x), y (S, n), parameters (S, ...)."""
    return jax.vmap(partial(loss, unroll=unroll), in_axes=(0, 1, 0))(p, x, y).sum()


def sgd(rate: float, unroll: int = 1) -> Update:
    """The compiled update: all parameters after a plain gradient step."""

    @jax.jit
    def update(p: Parameters, x: Array, y: Array) -> Parameters:
        _, gradients = jax.value_and_grad(losses)(p, x, y, unroll)
        return jax.tree.map(lambda v, gradient: v - rate * gradient, p, gradients)

    return update
