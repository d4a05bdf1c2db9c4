"""AMD's forward attention (AITer `fmha_v3_fwd`, `fwd_hd128_bf16*` and `fwd_hd192x128_bf16*`), bf16.

Layouts, kernel arguments and the masks were checked by execution against numpy; the host code they come from is
ROCm/aiter, `fmha_fwd_v3`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import Array, decode_bf16, encode_bf16, half_up_bf16, truncate_bf16
from asmevo.launch.recipes.agreement import Bounds, Expectation
from asmevo.launch.recipes.base import Argument, Recipe, slots
from asmevo.launch.values import Buffer, Launch
from asmevo.verdict import InputError

HEAD_DIMS = {"128": (128, 128), "192x128": (192, 128)}
KEY_TILE = 32
"""Keys whose probabilities are rounded against the same running maximum, read off the kernels' results."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """How float32 becomes bf16 in a kernel, twice: the probabilities, then O."""

    bits: Callable[[Array], NDArray[np.uint16]]
    bounds: Bounds
    """Of O against the exact product of the rounded probabilities with V."""


ROUNDINGS = {
    "rtne": Rounding(encode_bf16, Bounds(most_off=1e-3, mean_relative=2e-3)),
    "rtna": Rounding(half_up_bf16, Bounds(most_off=1e-3, mean_relative=2e-3)),
    "rtz": Rounding(truncate_bf16, Bounds(most_off=1e-2, mean_relative=5e-3)),
}
"""By the word in the object's name. What is left of the error is the rounding of O itself, and the order of sums."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """One sequence of a launch: half-open ranges of rows."""

    queries: slice
    keys: slice


@dataclass(frozen=True, kw_only=True)
class AttentionForward(Recipe):
    """O = softmax(Q K^T / sqrt(d)) V for each head, and the natural logarithm of each row's sum of exponentials.

    Q [rows, heads, d], K [rows, kv_heads, d], V [rows, kv_heads, dv], O [rows, heads, dv] are bf16; rows are those of
    all sequences, one after the other. Logarithms are float32, [batch, heads, queries], in group mode
    [heads, rows]. `causal` lets query i see keys up to i + keys - queries. In group mode (`group`) sequences differ in
    length: the first has `queries` and `keys`, the others fewer.
    """

    name: ClassVar[str] = "aiter.attention_forward"
    batch: int
    heads: int
    queries: int
    keys: int
    kv_heads: int = 0
    """Heads of K and V, a divisor of `heads`; 0 for as many."""
    head: str = "128"
    """Sizes of a head: `128`, or `192x128` with V's narrower."""
    causal: bool = False
    group: bool = False
    rounding: str = "rtne"
    """`rtne`, `rtna` or `rtz`, as in the object's name: how results become bf16."""
    seed: int = 0

    def __post_init__(self) -> None:
        self.require_positive("batch", "heads", "queries", "keys")
        self.require("head", HEAD_DIMS)
        self.require("rounding", ROUNDINGS)
        if self.kv_heads < 0 or self.heads % self.kv_count:
            raise InputError(f"{self.name} cannot share {self.kv_heads} key heads among {self.heads}; give a divisor.")
        if self.causal and self.keys < self.queries:
            raise InputError(f"{self.name} with causal needs keys >= queries, not {self.keys} < {self.queries}.")

    @property
    def kv_count(self) -> int:
        """Heads of K and V."""
        return self.kv_heads or self.heads

    @property
    def tile(self) -> int:
        """Queries that a workgroup takes."""
        return 256 if self.head == "128" else 128

    def lengths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Queries and keys of each sequence."""
        if not self.group:
            return (self.queries,) * self.batch, (self.keys,) * self.batch
        rng = np.random.default_rng((self.seed, self.queries, self.keys, self.batch))
        queries, keys = [self.queries], [self.keys]
        for _ in range(1, self.batch):
            queries.append(int(rng.integers(1, self.queries, endpoint=True)))
            keys.append(int(rng.integers(queries[-1] if self.causal else 1, self.keys, endpoint=True)))
        return tuple(queries), tuple(keys)

    def starts(self) -> tuple[list[int], list[int]]:
        """First rows of the sequences, and the total behind them."""
        queries, keys = self.lengths()
        return [0, *np.cumsum(queries).tolist()], [0, *np.cumsum(keys).tolist()]

    def sequences(self) -> Iterator[Sequence]:
        for (q, q_end), (k, k_end) in zip(*(pairwise(s) for s in self.starts()), strict=True):
            yield Sequence(slice(q, q_end), slice(k, k_end))

    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """Shapes of the four matrices."""
        (d, dv), (q, k) = HEAD_DIMS[self.head], (s[-1] for s in self.starts())
        h, hk = self.heads, self.kv_count
        return {"q": (q, h, d), "k": (k, hk, d), "v": (k, hk, dv), "o": (q, h, dv)}

    def launch(self, name: str) -> Launch:
        shapes, (d, dv) = self.shapes(), HEAD_DIMS[self.head]
        row = {key: 2 * heads * size for key, (_, heads, size) in shapes.items()}
        lengths = {"q": self.queries, "o": self.queries, "k": self.keys, "v": self.keys}
        batch = {key: 0 if self.group else row[key] * lengths[key] for key in row}
        q_starts, k_starts = ("q_starts", "k_starts") if self.group else (None, None)
        lse_rows = shapes["q"][0] if self.group else self.queries
        arguments: tuple[Argument, ...] = (
            ("O", "o"), ("Q", "q"), ("K", "k"), ("V", "v"), ("LSE", "lse"), ("scale", float(d**-0.5)),
            ("Sq", self.queries), ("q_row", row["q"]), ("q_tile", self.tile * row["q"]), ("q_head", 2 * d),
            ("q_batch", batch["q"]), ("ratio", self.heads // self.kv_count), ("k_row", row["k"]), ("k_head", 2 * d),
            ("k_batch", batch["k"]), ("opt", self._options()), ("has_lse", 1), ("Sk", self.keys), ("dq", d), ("dv", dv),
            ("Hq", self.heads), ("v_row", row["v"]), ("v_head", 2 * dv), ("v_batch", batch["v"]), ("o_row", row["o"]),
            ("o_head", 2 * dv), ("o_batch", batch["o"]), ("q_starts", q_starts), ("k_starts", k_starts),
            ("lse_head", 4 * lse_rows), ("q_starts_padded", q_starts), ("k_starts_padded", k_starts),
        )  # fmt: skip
        lse = (self.heads, lse_rows) if self.group else (self.batch, self.heads, lse_rows)
        buffers = [
            Buffer("o", "out", "bf16", shapes["o"]),
            Buffer("lse", "out", "float32", lse),
            *(Buffer(key, "in", "bf16", shapes[key], self.fill(key)) for key in ("q", "k", "v")),
        ]
        if self.group:
            count = (self.batch + 1,)
            buffers += [Buffer(key, "in", "int32", count, self.fill(key)) for key in ("q_starts", "k_starts")]
        return Launch(
            name=name,
            grid=self._grid(),
            block=(512 if self.head == "128" else 256, 1, 1),
            kernarg=slots(arguments),
            buffers=tuple(buffers),
            recipe=self,
        )

    def _grid(self) -> tuple[int, int, int]:
        tiles = -(-self.queries // self.tile)
        if self.head == "128":
            tiles = -(-tiles // 2) if self.causal else tiles  # a workgroup takes a tile from each end
            return (self.heads, self.batch, tiles) if self.group else (tiles, self.heads, self.batch)
        return (self.heads, self.batch, tiles) if self.group else (self.heads, tiles, self.batch)

    def _options(self) -> int:
        """What the host passes as tuning options of heads of 128."""
        if self.head != "128":
            return 0
        return 3 if self.causal and (self.heads % 8 or self.queries > 16384) else 5

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.heads, self.queries, self.keys))
        shapes = self.shapes()
        arrays: dict[str, Array] = {key: encode_bf16(rng.standard_normal(shapes[key])) for key in ("q", "k", "v")}
        if self.group:
            q_starts, k_starts = self.starts()
            arrays |= {"q_starts": np.array(q_starts, np.int32), "k_starts": np.array(k_starts, np.int32)}
        return arrays

    def expectations(self) -> tuple[Expectation, ...]:
        q, k, v = (decode_bf16(self.inputs()[key]).astype(np.float64) for key in ("q", "k", "v"))
        shapes = self.shapes()
        result, logarithms = np.zeros(shapes["o"]), np.zeros((self.heads, shapes["o"][0]))
        for sequence in self.sequences():
            for head in range(self.heads):
                source = head // (self.heads // self.kv_count)
                o, lse = self._head(q[sequence.queries, head], k[sequence.keys, source], v[sequence.keys, source])
                result[sequence.queries, head], logarithms[head, sequence.queries] = o, lse
        if not self.group:
            logarithms = logarithms.reshape(self.heads, self.batch, self.queries).transpose(1, 0, 2)
        bounds = ROUNDINGS[self.rounding].bounds
        wording = f"mean relative error {bounds.mean_relative}"
        return (
            Expectation("o", result, bounds=bounds, wording=wording),
            Expectation("lse", logarithms, 2e-6 * np.maximum(np.abs(logarithms), 1), wording="2e-6, relative above 1"),
        )

    def _head(
        self, q: NDArray[np.float64], k: NDArray[np.float64], v: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """O and the logarithms of one head of one sequence."""
        scores = q @ k.T * float(np.float32(q.shape[1] ** -0.5))
        if self.causal:
            i, j = np.indices(scores.shape)
            scores[j > i + len(k) - len(q)] = -np.inf
        return _online(scores, v, ROUNDINGS[self.rounding].bits)


def _online(
    scores: NDArray[np.float64], v: NDArray[np.float64], bits: Callable[[Array], NDArray[np.uint16]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Softmax of scores times V, a tile of keys after the other: O, and the logarithms of the rows' sums.

    The probabilities that meet V are bf16, those that are summed are not. The maximum that they are taken against is
    that of the tiles so far.
    """
    rows = len(scores)
    largest, total = np.full((rows, 1), -np.inf), np.zeros((rows, 1))
    result = np.zeros((rows, v.shape[1]))
    for first in range(0, len(v), KEY_TILE):
        tile = scores[:, first : first + KEY_TILE]
        reached = np.maximum(largest, tile.max(axis=1, keepdims=True))
        against = np.where(np.isneginf(reached), 0.0, reached)
        weights, kept = np.exp(tile - against), np.exp(largest - against)
        rounded = decode_bf16(bits(weights)).astype(np.float64)
        result = result * kept + rounded @ v[first : first + KEY_TILE]
        total, largest = total * kept + weights.sum(axis=1, keepdims=True), reached
    return result / total, (largest + np.log(total))[:, 0]
