"""A numpy array in the shape of a tensor, for kernels without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray


class Array:
    """What a kernel takes as a tensor, over a numpy array that it reads and writes in place.

    `dtype` may name a type that numpy lacks (`ml_dtypes` has bfloat16 and the fp8 formats).
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self, axis: int | None = None) -> Any:
        """Strides in elements, or that of one axis."""
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if axis is None else strides[axis]

    def numel(self) -> int:
        return self.array.size

    def data_ptr(self) -> int:
        return self.array.ctypes.data if self.array.size else 0

    def untyped_storage(self) -> _Bytes:
        """The bytes from the lowest to the highest element."""
        low, high = byte_bounds(self.array) if self.array.size else (0, 0)
        return _Bytes(low, high - low)

    # what an autotuner does to arguments that a trial must not change
    def zero_(self) -> None:
        self.array[...] = 0

    def clone(self) -> Array:
        return Array(self.array.copy())

    def copy_(self, other: Array) -> None:
        self.array[...] = other.array


@dataclass(frozen=True, slots=True)
class _Bytes:
    start: int
    size: int

    def data_ptr(self) -> int:
        return self.start

    def nbytes(self) -> int:
        return self.size
