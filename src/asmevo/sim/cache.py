"""Compiled code by content: blocks and the runtime functions they call, in memory and on disk."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from threading import RLock
from typing import TypeAlias

import asmevo.isa
from asmevo.isa import Instruction, MatrixRow, rows
from asmevo.sim.block import ENTRY, block_module
from asmevo.sim.checked.runtime import checked_module, checked_symbols
from asmevo.sim.ir import Module
from asmevo.sim.native import Compiler, Effort, Host, Library, linker, llvm
from asmevo.sim.objectfiles import ObjectFiles, user_folder
from asmevo.sim.options import Options
from asmevo.sim.runtime import core_module
from asmevo.sim.runtime.addresses import ZEROS
from asmevo.sim.runtime.matrix import Shape, product_module, sparse_module
from asmevo.sim.runtime.unpack import ELEMENT_BITS, SELECT, select_module, unpack_module, unpack_name

_Identity: TypeAlias = tuple[int, Options, tuple[int, ...], tuple[str, ...]]
"""Variant, options, encoded lengths where they matter, and texts of a block."""


@cache
def engine_digest() -> str:
    """Hash of everything that decides what code looks like: this package, the opcode table, and LLVM's version."""
    h = hashlib.sha256(repr(llvm.llvm_version_info).encode())
    for package in (Path(__file__).parent, Path(asmevo.isa.__file__).parent):
        for path in sorted(package.rglob("*.py")):
            h.update(path.read_bytes())
    return h.hexdigest()


@cache
def _products() -> dict[str, Callable[[], Module]]:
    """Makers of the matrix functions by name."""
    found: dict[str, Callable[[], Module]] = {}
    for row in rows().values():
        if isinstance(row, MatrixRow):
            shape = Shape.of(row)
            found[shape.sparse_name if row.sparse else shape.name] = partial(
                sparse_module if row.sparse else product_module, shape
            )
    return found


class Code:
    """A function in the process; callable while this value lives."""

    def __init__(self, library: Library, name: str, needs: tuple[Code, ...]) -> None:
        self.address = library.addresses[name]
        self._library = library
        self._needs = needs


class BlockCache:
    """Native code of blocks and of the runtime, found again by what it says. One for a process; thread-safe.

    `folder` keeps code between processes; None takes the user's cache folder. `capacity` is the number of blocks kept
    in memory; those that an executable uses stay in any case. `compiled` counts compilations of blocks in this process.
    """

    def __init__(self, folder: Path | None = None, capacity: int = 8192) -> None:
        self.capacity = capacity
        self.compiled = 0
        self._files = ObjectFiles(folder or user_folder())
        self._host = Host.this()
        self._compiler = Compiler(self._host)
        self._blocks: OrderedDict[tuple[bool, _Identity], Code] = OrderedDict()
        self._symbols: dict[str, Code] = {}
        self._lock = RLock()

    def block(
        self,
        instructions: Sequence[Instruction],
        sizes: Sequence[int],
        variant: int,
        options: Options,
        *,
        hot: bool = False,
    ) -> Code:
        """Code of a block; `sizes` are the encoded lengths of its instructions where they matter, else empty.

        With `hot` it is made with more effort, because it runs often. Such code is taken in any case when it is there.
        """
        identity = (variant, options, tuple(sizes), tuple(i.text for i in instructions))
        with self._lock:
            for wanted in (True, False):
                code = self._blocks.get((wanted, identity))
                if code is not None:
                    self._blocks.move_to_end((wanted, identity))
                    return code
                if hot:
                    break
            code, is_hot = self._found(instructions, identity, hot)
            self._blocks[is_hot, identity] = code
            while len(self._blocks) > self.capacity:
                self._blocks.popitem(last=False)
            return code

    def _found(self, instructions: Sequence[Instruction], identity: _Identity, hot: bool) -> tuple[Code, bool]:
        """Code from the folder, or compiled; and whether it is made with more effort."""
        variant, options, sizes, texts = identity
        keys = {h: self._key("block", repr((variant, options, sizes, h)), *texts) for h in (True, False)}
        if (stored := self._files.read(keys[True])) is not None:
            return self._linked(*stored), True
        if not hot and (stored := self._files.read(keys[False])) is not None:
            return self._linked(*stored), False
        self.compiled += 1
        ends = list(accumulate(sizes)) if sizes else [0] * len(instructions)
        module = block_module(instructions, ends, variant, options)
        data = self._compiler.compile(module.text, Effort.HOT if hot else Effort.QUICK)
        imports = sorted(module.imports)
        self._files.write(keys[hot], imports, data)
        return self._linked(imports, data), hot

    def _linked(self, imports: Sequence[str], data: bytes) -> Code:
        needs = tuple(self.function(name) for name in imports)
        addresses = {name: code.address for name, code in zip(imports, needs, strict=True)}
        return Code(linker().load([data], [ENTRY], addresses), ENTRY, needs)

    def function(self, name: str) -> Code:
        """A runtime function by its symbol."""
        with self._lock:
            if name not in self._symbols:
                self._provide(name)
            return self._symbols[name]

    def _key(self, *parts: str) -> str:
        h = hashlib.sha256(engine_digest().encode())
        for part in (self._host.triple, self._host.cpu, self._host.features, *parts):
            h.update(part.encode() + b"\0")
        return h.hexdigest()

    # --- runtime functions
    def _provide(self, name: str) -> None:
        """Load the module that defines a runtime function."""
        if name in _products():
            module = _products()[name]()
        elif name == SELECT:
            module = select_module()
        elif name in (unpack_name(e) for e in ELEMENT_BITS):
            module = unpack_module(name.removeprefix(unpack_name("")))
        elif name in checked_symbols():
            module = checked_module()
        else:
            module = core_module(self._host.architecture)
        exports = sorted(module.defined | ({ZEROS.removeprefix("@")} if ZEROS in module.text else set()))
        key = self._key("runtime", module.text)
        stored = self._files.read(key)
        if stored is None:
            data = self._compiler.compile(module.text, Effort.THOROUGH)
            self._files.write(key, [], data)
        else:
            data = stored[1]
        library = linker().load([data], exports, {})
        for symbol in exports:
            self._symbols[symbol] = Code(library, symbol, ())
