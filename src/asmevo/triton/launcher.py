"""Triton's call of a compiled kernel: hooks, scratch memory and arguments, then the simulated chip."""

from __future__ import annotations

from typing import Any

from asmevo.triton import upstream
from asmevo.triton.arguments import launch_of
from asmevo.triton.execution import Engine, LoadedKernel


class Launcher:
    """Made for each compiled kernel from its source and metadata; called for each launch."""

    def __init__(self, engine: Engine, source: Any, metadata: Any) -> None:
        self._engine = engine
        self._metadata = metadata
        descriptors = getattr(metadata, "tensordesc_meta", None)
        self._signature: list[tuple[str, Any]] = [
            (str(name), one)
            for name, kind in source.signature.items()
            for one in upstream.expand_signature([kind], descriptors, "tensordesc")
        ]
        self._fire: Any = upstream.handle_descriptors(self._launch, source.signature, descriptors, _decomposed)

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: Any,
        function: LoadedKernel,
        packed_metadata: Any,
        launch_metadata: Any,
        enter: Any,
        leave: Any,
        *values: Any,
    ) -> None:
        """Run the kernel on a grid; the hooks see `launch_metadata` before and after."""
        if enter is not None:
            enter(launch_metadata)
        if x * y * z > 0:
            self._fire((x, y, z), stream, function, values)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, grid: tuple[int, int, int], stream: Any, function: LoadedKernel, values: tuple[Any, ...]) -> None:
        m = self._metadata
        workgroups = grid[0] * grid[1] * grid[2]
        scratch: list[Any] = [None, None]
        if m.global_scratch_size:
            make = upstream.allocation._allocator.get()
            scratch[0] = make(workgroups * m.global_scratch_size, m.global_scratch_align, stream)
        if m.profile_scratch_size:
            make = upstream.allocation._profile_allocator.get()
            scratch[1] = make(workgroups * m.profile_scratch_size, m.profile_scratch_align, stream)
        given = launch_of(
            function.kernel,
            self._signature,
            values,
            scratch,
            grid=grid,
            threads=m.num_warps * m.warp_size,
            dynamic_lds=m.shared,
        )
        self._engine.run(function, given)


def _decomposed(descriptor: Any, *_: Any) -> list[Any]:
    """A tensor descriptor as the plain arguments that gfx942 takes for one."""
    return upstream.decompose_descriptor(descriptor)
