"""Measured times of AMD's mixture-of-experts kernels, and the launches behind them made ready for the timing model.

A table has a row for each time that was taken, with the columns named in `COLUMNS`; `docs/timing.md` says where it is
looked for. A shape is one problem on one chip; its objects are the candidates that were timed for it, each with the
median of its rows.
"""

from __future__ import annotations

import csv
import statistics
import zipfile
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.launch import FmoeOneStage, FmoeStage1, build_image
from asmevo.launch.recipes.experts import GatedExperts
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Executable, WaveTrace
from asmevo.timing import Accesses, Chip, Prepared, chip, prepare, record, traces_needed
from asmevo.verdict import EnvironmentError_, InputError
from benchmarks.wheels import AITER, cache_folder, fetch_wheel

MEASURED: Final = "measured.csv"
"""Name of the table in the folder of fetched files."""
COLUMNS: Final = (
    "family", "cu_num", "splitK", "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "q_type",
    "doweight_stage1", "us", "suspect", "tile_m", "tile_n", "origin", "wheel_path",
)  # fmt: skip
CHIPS: Final = {80: "mi308x", 304: "mi300x"}
"""Chip of a number of compute units; tables with 304 do not say whether it was an MI300X or an MI325X."""
DOUBTED_RESULT: Final = ("", "err>50%")
"""What `suspect` may say of a row whose time counts: only its result is in doubt, if anything."""
SAMPLES: Final = 16
"""Workgroups that stand for a grid, evenly spaced; the last that has rows and the first that has none are added."""
ROUTINGS: Final = 5
"""Random routings that a modelled time is the mean of: the seed of the one that was timed is not known, and with few
tokens it decides how many experts get any."""
FAMILIES: Final = ("fmoe", "fmoe_2stages")


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """One problem on one chip."""

    family: str
    compute_units: int
    dim: int
    inter: int
    experts: int
    topk: int
    tokens: int
    scaling: str
    doweight: bool
    activation: str

    def __str__(self) -> str:
        return (
            f"{self.family} {self.tokens} tokens, {self.topk} of {self.experts} experts, {self.dim}x{self.inter}, "
            f"{self.compute_units} CUs"
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One object timed at one shape."""

    shape: Shape
    path: str
    """In the wheel."""
    tile: tuple[int, int]
    microseconds: float
    """Median of its rows."""
    spread: float
    """Largest over smallest time of its rows, less one."""
    every: bool
    """Whether every candidate of the shape was timed, and not only the fastest."""
    walks: bool
    """Whether its workgroups stay and walk over the blocks (`_ps_`)."""

    @property
    def name(self) -> str:
        return Path(self.path).stem


def find_table(given: Path | None) -> Path:
    """The table to use. Raises `EnvironmentError_` when there is none."""
    path = given or cache_folder() / MEASURED
    if not path.is_file():
        raise EnvironmentError_(
            f"There is no table of measured times at {path}; give one with --measured FILE, or put it there "
            "(docs/timing.md says which columns it needs)."
        )
    return path


def read_table(path: Path) -> list[Candidate]:
    """All candidates of a table whose times count. Raises `InputError` when it lacks a column or has no such row."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise InputError(f"{path} has no column {missing[0]!r}; docs/timing.md lists the columns of a table.")
        rows = [row for row in reader if _counts(row)]
    if not rows:
        raise InputError(f"{path} has no row whose time counts; docs/timing.md says which do.")
    groups: dict[tuple[Shape, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((_shape(row), row["wheel_path"]), []).append(row)
    return [_candidate(shape, path_, group) for (shape, path_), group in sorted(groups.items())]


def _counts(row: dict[str, str]) -> bool:
    return (
        row["family"] in FAMILIES
        and row["suspect"] in DOUBTED_RESULT
        and row["splitK"] in ("", "0")
        and int(row["cu_num"]) in CHIPS
    )


def _shape(row: dict[str, str]) -> Shape:
    return Shape(
        family=row["family"],
        compute_units=int(row["cu_num"]),
        dim=int(row["model_dim"]),
        inter=int(row["inter_dim"]),
        experts=int(row["expert"]),
        topk=int(row["topk"]),
        tokens=int(row["token"]),
        scaling="block" if row["q_type"].endswith("1x128") else "token",
        doweight=row["doweight_stage1"] == "1",
        activation="silu" if row["act_type"].endswith("Silu") else "gelu",
    )


def _candidate(shape: Shape, path: str, rows: list[dict[str, str]]) -> Candidate:
    times = [float(row["us"]) for row in rows]
    return Candidate(
        shape=shape,
        path=path,
        tile=(int(rows[0]["tile_m"]), int(rows[0]["tile_n"])),
        microseconds=statistics.median(times),
        spread=max(times) / min(times) - 1,
        every=any(row["origin"] == "profile" for row in rows),
        walks="_ps_" in path,
    )


@dataclass
class Cases:
    """Candidates made ready for the model. Objects come from the wheel; each is executed once for each dim and inter.

    A workgroup does the same for every block of rows that it is given, and leaves at once when there is none. So one
    workgroup of each kind is executed, of a launch with few experts, and the two stand for all: a workgroup of the
    grid repeats the first when its block holds rows by the routing of the launch.
    """

    cache: BlockCache = field(default_factory=BlockCache)
    _programs: dict[str, Program] = field(default_factory=dict[str, Program])
    _traced: dict[Hashable, tuple[list[WaveTrace], list[WaveTrace], Accesses]] = field(
        default_factory=dict[Hashable, Any]
    )

    def ready(self, candidate: Candidate) -> tuple[Prepared, ...]:
        """The launch of a candidate with each of `ROUTINGS` routings, ready for the chip that it was timed on."""
        shape = candidate.shape
        recipe = recipe_of(candidate, shape.tokens, shape.experts, shape.topk)
        return tuple(self._routed(candidate, replace(recipe, seed=seed)) for seed in range(ROUTINGS))

    def _routed(self, candidate: Candidate, recipe: GatedExperts) -> Prepared:
        launch = recipe.launch("measured")
        busy, idle, accesses = self._waves(candidate)
        edge = blocks_of(recipe) * launch.grid[0]
        numbers = {*traces_needed(launch, SAMPLES), edge - 1, edge} & {*range(launch.workgroups)}
        traces = [
            WaveTrace(number, wave.wave, wave.runs)
            for number in sorted(numbers)
            for wave in (busy if number < edge else idle)
        ]
        return prepare(self.program(candidate.path), launch, traces, chip_of(candidate.shape), accesses)

    def program(self, path: str) -> Program:
        """The program of an object of the wheel."""
        if path not in self._programs:
            self._programs[path] = recover(CodeObject.parse(read_object(path), Path(path).name))
        return self._programs[path]

    def _waves(self, candidate: Candidate) -> tuple[list[WaveTrace], list[WaveTrace], Accesses]:
        """Waves of a workgroup that has a block of rows, and of one that has none. How wide the result is and how many
        rows of a block are filled changes neither path."""
        shape = candidate.shape
        key = (candidate.path, shape.dim, shape.activation)
        if key not in self._traced:
            small = recipe_of(candidate, candidate.tile[0], 1, 1, candidate.tile[1])
            launch, program = small.launch("one block"), self.program(candidate.path)
            image = build_image(launch, program.source, program.kernel)
            recorded = record(Executable.build(program, self.cache), launch, image, workgroups=[0, 1])
            done = recorded.execution
            if done.status != "done" or blocks_of(small) != 1 or launch.grid[1] != 2:
                raise InputError(f"{candidate.name} does not run as its recipe says; it ends with {done.status}.")
            busy, idle = ([w for w in done.traces if w.workgroup == i] for i in (0, 1))
            self._traced[key] = busy, idle, recorded.accesses
        return self._traced[key]


def recipe_of(candidate: Candidate, tokens: int, experts: int, topk: int, inter: int = 0) -> GatedExperts:
    """How a candidate is launched for so many tokens; `inter` replaces that of the shape."""
    shape = candidate.shape
    sizes: dict[str, Any] = {
        "tokens": tokens, "experts": experts, "topk": topk, "dim": shape.dim, "inter": inter or shape.inter,
        "tile_m": candidate.tile[0], "tile_n": candidate.tile[1], "scaling": shape.scaling,
        "activation": shape.activation, "doweight": shape.doweight,
    }  # fmt: skip
    return FmoeStage1(**sizes) if shape.family == "fmoe_2stages" else FmoeOneStage(**sizes)


def blocks_of(recipe: GatedExperts) -> int:
    """Blocks of rows that hold any, by the recipe's routing."""
    rows = np.bincount(recipe.chosen().ravel(), minlength=recipe.experts)
    return int((-(-rows // recipe.tile_m)).sum())


def chip_of(shape: Shape) -> Chip:
    """The chip that a shape was timed on."""
    return chip(CHIPS[shape.compute_units])


def read_object(path: str) -> bytes:
    """An object of the wheel."""
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        return archive.read(path)
