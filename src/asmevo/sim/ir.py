"""LLVM IR as text: typed values, a builder with structured control flow, and modules that know what they import."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast

_FLOATS = {16: "half", 32: "float", 64: "double"}


@cache
def type_name(kind: str, bits: int, lanes: int = 1) -> str:
    """LLVM type of `lanes` integers (`kind` "i") or floats ("f")."""
    scalar = f"i{bits}" if kind == "i" else _FLOATS[bits]
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value or constant: `lanes` integers or floats of `bits` bits."""

    text: str
    kind: str
    bits: int
    lanes: int
    const: int | None = None
    """For an integer constant, its value modulo 2**bits; the same in all lanes."""

    @property
    def type(self) -> str:
        return type_name(self.kind, self.bits, self.lanes)

    @property
    def typed(self) -> str:
        return f"{type_name(self.kind, self.bits, self.lanes)} {self.text}"


@lru_cache(maxsize=1 << 16)
def constant(value: int, bits: int, lanes: int = 1) -> Value:
    """An integer constant in all lanes."""
    value &= (1 << bits) - 1
    scalar = str(value) if bits > 1 else ("true" if value else "false")
    text = scalar if lanes == 1 else f"splat (i{bits} {scalar})"
    return Value(text, "i", bits, lanes, value)


def results_of(meaning: Any) -> tuple[Value, ...]:
    """What a row's meaning gave, one value or a tuple of them, as a tuple."""
    return cast(tuple[Value, ...], meaning if isinstance(meaning, tuple) else (meaning,))


def mask_text(bits: list[bool]) -> str:
    """A constant vector of i1."""
    return "<" + ", ".join("i1 true" if b else "i1 false" for b in bits) + ">"


def index_text(indices: list[int]) -> str:
    """A constant index vector for `shufflevector`."""
    return f"<{len(indices)} x i32> <" + ", ".join(f"i32 {i}" for i in indices) + ">"


class Module:
    """IR functions under construction, with the declarations they need."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.declarations: dict[str, str] = {}
        self.imports: set[str] = set()
        """Symbols that another module of the engine defines."""
        self.defined: set[str] = set()

    def intrinsic(self, name: str, result: str, *arguments: str) -> str:
        """Declare an LLVM intrinsic and give its name."""
        self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(arguments)})")
        return name

    def extern(self, name: str, result: str, *arguments: str) -> str:
        """Declare a function of another module of the engine and give its name."""
        if name not in self.defined:
            self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(arguments)})")
            self.imports.add(name)
        return name

    @contextmanager
    def function(
        self, name: str, result: str, parameters: Mapping[str, str], attributes: str = ""
    ) -> Generator[Builder]:
        """Define a function; parameter names become `%name`. The caller emits `ret`."""
        builder = Builder(self)
        yield builder
        signature = ", ".join(f"{kind} %{parameter}" for parameter, kind in parameters.items())
        linkage = "internal " if attributes else ""
        head = f"define {linkage}{result} @{name}({signature}) {attributes}{{\nentry:\n"
        self.bodies.append(head + "\n".join([*builder.entry, *builder.lines]) + "\n}\n")
        self.defined.add(name)
        self.imports.discard(name)
        self.declarations.pop(name, None)

    @property
    def text(self) -> str:
        return "\n".join([*(self.declarations[n] for n in sorted(self.declarations)), *self.bodies])

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Builder:
    """Appends instructions to one function. Operands and results are names and literals as text, without type."""

    def __init__(self, module: Module, prefix: str = "t") -> None:
        self.module = module
        self.prefix = prefix
        """Keeps the names of two builders of one function apart."""
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.label = "entry"
        """Label of the block that `lines` ends in."""
        self._count = 0

    # --- plain instructions
    def name(self) -> str:
        self._count += 1
        return f"%{self.prefix}.{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(text)

    def let(self, text: str) -> str:
        """Append `name = text` and give the name."""
        self._count += 1
        name = f"%{self.prefix}.{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def op(self, name: str, kind: str, a: str, b: str) -> str:
        """A binary instruction or comparison on two operands of type `kind`."""
        return self.let(f"{name} {kind} {a}, {b}")

    def i64(self, name: str, a: str, b: str | int) -> str:
        return self.let(f"{name} i64 {a}, {b}")

    def i32(self, name: str, a: str, b: str | int) -> str:
        return self.let(f"{name} i32 {a}, {b}")

    def cast(self, name: str, value: str, source: str, target: str) -> str:
        return self.let(f"{name} {source} {value} to {target}")

    def choose(self, condition: str, kind: str, a: str, b: str) -> str:
        """`a` if the i1 condition holds, else `b`."""
        return self.let(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def at(self, pointer: str, offset: int | str, stride: int = 1) -> str:
        """The address `pointer + offset * stride`."""
        if isinstance(offset, int):
            return pointer if not offset else self.let(f"getelementptr i8, ptr {pointer}, i64 {offset * stride}")
        element = "i8" if stride == 1 else f"[{stride} x i8]"
        return self.let(f"getelementptr {element}, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, align: int = 1) -> str:
        return self.let(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int = 1) -> None:
        self.lines.append(f"store {kind} {value}, ptr {pointer}, align {align}")

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Call `name` with arguments given as `type value`."""
        text = f"call {result} @{name}({', '.join(arguments)})"
        if result == "void":
            self.lines.append(text)
            return ""
        return self.let(text)

    def splat(self, scalar: str, kind: str, lanes: int) -> str:
        """A vector with one scalar in all lanes."""
        one = self.let(f"insertelement <{lanes} x {kind}> poison, {kind} {scalar}, i32 0")
        vector = f"<{lanes} x {kind}>"
        return self.let(f"shufflevector {vector} {one}, {vector} poison, <{lanes} x i32> zeroinitializer")

    # --- control flow
    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.lines.append(f"br label %{label}")

    def fresh(self, stem: str) -> str:
        """A new label."""
        self._count += 1
        return f"{stem}{self._count}"

    @contextmanager
    def loop(self, count: int | str, step: int = 1) -> Generator[str]:
        """A loop that runs at least once over an i64 index 0, step, ... below `count`."""
        head, end = self.fresh("loop"), self.fresh("end")
        index, following, done = self.name(), self.name(), self.name()
        before = self.label
        self.jump(head)
        self.start(head)
        place = len(self.lines)
        self.lines.append("")
        yield index
        self.lines[place] = f"{index} = phi i64 [0, %{before}], [{following}, %{self.label}]"
        self.do(f"{following} = add nuw nsw i64 {index}, {step}")
        self.do(f"{done} = icmp uge i64 {following}, {count}")
        self.do(f"br i1 {done}, label %{end}, label %{head}")
        self.start(end)

    @contextmanager
    def when(self, condition: str) -> Generator[None]:
        """Run the body if the i1 `condition` holds. A body that returns must end with `leave`."""
        then, end = self.fresh("then"), self.fresh("end")
        self.do(f"br i1 {condition}, label %{then}, label %{end}")
        self.start(then)
        yield
        if not self.lines[-1].startswith(("ret ", "br ")):
            self.jump(end)
        self.start(end)

    @contextmanager
    def each_bit(self, mask: str) -> Generator[str]:
        """A loop over the set bits of an i64 in ascending order; yields the bit number as i64."""
        head, body, end = self.fresh("bits"), self.fresh("bit"), self.fresh("end")
        before, rest, some, following = self.label, self.name(), self.name(), self.name()
        trailing = self.module.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        self.jump(head)
        self.start(head)
        place = len(self.lines)
        self.lines.append("")
        self.do(f"{some} = icmp ne i64 {rest}, 0")
        self.do(f"br i1 {some}, label %{body}, label %{end}")
        self.start(body)
        index = self.call("i64", trailing, f"i64 {rest}", "i1 true")
        yield index
        less = self.let(f"sub i64 {rest}, 1")
        self.do(f"{following} = and i64 {rest}, {less}")
        self.lines[place] = f"{rest} = phi i64 [{mask}, %{before}], [{following}, %{self.label}]"
        self.jump(head)
        self.start(end)

    # --- mutable variables, for modules that the optimiser passes run over
    def variable(self, kind: str, initial: str) -> Variable:
        name = self.name()
        self.entry.append(f"{name} = alloca {kind}")
        variable = Variable(self, kind, name)
        variable.set(initial)
        return variable

    def buffer(self, size: int) -> str:
        """Stack memory of `size` bytes, aligned to 64."""
        name = self.name()
        self.entry.append(f"{name} = alloca [{size} x i8], align 64")
        return name


@dataclass(frozen=True, slots=True)
class Variable:
    """A mutable local; the optimiser turns it into SSA."""

    builder: Builder
    kind: str
    pointer: str

    def get(self) -> str:
        return self.builder.let(f"load {self.kind}, ptr {self.pointer}")

    def update(self, op: str, value: str | int) -> None:
        """Combine with `value` by a binary instruction."""
        self.set(self.builder.let(f"{op} {self.kind} {self.get()}, {value}"))

    def set(self, value: str) -> None:
        self.builder.do(f"store {self.kind} {value}, ptr {self.pointer}")
