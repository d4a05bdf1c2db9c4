"""The layouts in which AMD's kernels read weights: tiles of 16 (older objects: 32) rows, in runs of 16 bytes."""

from __future__ import annotations

import numpy as np

from asmevo.launch.formats import Array

_RUN = 16
"""Bytes that one lane loads."""


def shuffle_weights(codes: Array, k: int, tile: int = 16) -> Array:
    """Weights [..., rows, k] in tiles of `tile` rows by 32 columns, of one byte or two (bf16).

    A tile holds, for each of its runs along k, that run of all its rows. rows is a multiple of `tile` and k of 32.
    """
    run = _RUN // codes.itemsize
    flat = codes.reshape(-1, tile, k // 32, 32 // run, run)
    return np.ascontiguousarray(flat.transpose(0, 2, 3, 1, 4)).reshape(codes.shape)


def unshuffle_weights(codes: Array, k: int, tile: int = 16) -> Array:
    """The inverse of `shuffle_weights`."""
    run = _RUN // codes.itemsize
    flat = codes.reshape(-1, k // 32, 32 // run, tile, run)
    return np.ascontiguousarray(flat.transpose(0, 3, 1, 2, 4)).reshape(codes.shape)
