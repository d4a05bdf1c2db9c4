"""AMD's own objects on the simulator, against what their recipes say they compute.

    python -m benchmarks.recipes [--json] [--family TEXT] [--each N] [--folder FOLDER]

Runs every object of the `amd-aiter` wheel that has a recipe (or those in `--folder`, for families the wheel lacks) at
the sizes of `asmevo.launch.for_object`: stage 1 at `ragged`, five objects of each variant at all three; the others at
all three. Waves take turns after a few instructions, as they do on a compute unit; where that is too coarse, after each
instruction. `ragged` is run a second time with each wave going as far as it can, and an object whose result is wrong
then depends on an order that nothing in its code enforces. `--each` limits the objects of a family, `--family` the
families to those whose name contains the text.

JSON: `families`, for each its `family`, `objects`, `runs`, `agreeing`, `worst` (largest share of a bound that a result
took up), `worst_object`, `order_dependent` (objects), `lockstep` (runs that needed turns of one instruction),
`cpu_seconds` (compilation included); `disagreements`, and `wrong_objects`: those known to be wrong themselves. Exit
code 1 when the result of any other object disagrees or a launch does not end.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.launch import FmoeOneStage, FmoeOneStageWide, FmoeStage1, Launch, Recipe, build_image, for_object
from asmevo.program import recover
from asmevo.sim import BlockCache, Executable, Limits, execute
from asmevo.verdict import AsmEvoError, InputError, UnsupportedError
from benchmarks.common import print_json
from benchmarks.wheels import AITER, fetch_wheel

TURN = 16
"""Instructions after which a wave lets the others go on."""
WHOLE = 5
"""Objects of each variant of stage 1 that run at all sizes."""
WRONG = {
    "bc02a7bc584f49760523aa8ef3e3d09bcd39aefe46a22718e118ad9c53d7b6b0",
    "c70b6a13496281a7aa41a119a4c46e8dca97e02606705af285854a61c8645043",
}
"""sha256 of objects that are wrong themselves. The first (32x128, fp8, `vs`, SiLU) does not advance its pointer into O
in the first two rounds over dim, so that above dim 256 columns are added to others; AMD has replaced it. The second is
the same code but for GELU in the place of SiLU."""
FOLDERS = re.compile(r"hsa/gfx942/(fmoe|fmoe_2stages|bf16gemm|i8gemm|fp8gemm_blockscale|fmha_v3_fwd|[^/]+\.co)\b")


@dataclass
class Family:
    """The account of a family."""

    name: str
    objects: int = 0
    runs: int = 0
    agreeing: int = 0
    worst: float = 0.0
    worst_object: str = ""
    order_dependent: list[str] = field(default_factory=list)
    lockstep: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def add(self, name: str, used: float | None) -> None:
        """One run: the share of its bounds that it took up; None when it did not end."""
        self.runs += 1
        if used is not None and used <= 1:
            self.agreeing += 1
        if used is not None and used >= self.worst:
            self.worst, self.worst_object = used, name

    def to_json(self) -> dict[str, Any]:
        facts = {key: value for key, value in vars(self).items() if key != "name"}
        return {"family": self.name} | facts

    def __str__(self) -> str:
        return (
            f"{self.name:32} {self.objects:3} objects, {self.agreeing}/{self.runs} runs agree, worst "
            f"{100 * self.worst:.0f} % of a bound, {len(self.order_dependent)} depend on the order of waves, "
            f"{self.cpu_seconds:.1f} CPU-s"
        )


def family_of(recipe: Recipe) -> str:
    """The name of the family and variant of an object, by its recipe."""
    if isinstance(recipe, FmoeStage1):
        return " ".join(("stage 1", recipe.scaling, recipe.dtype, *(["weighted"] if recipe.doweight else [])))
    if isinstance(recipe, FmoeOneStage):
        wide = ["bf16 in"] if isinstance(recipe, FmoeOneStageWide) else []
        return " ".join(("one stage", recipe.scaling, recipe.activation, *wide))
    return recipe.name.partition(".")[2].replace("_", " ")


def wheel_objects() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the gfx942 objects of the wheel that may have a recipe."""
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        for name in sorted(archive.namelist()):
            found = FOLDERS.search(name)
            if found and name.endswith(".co"):
                yield name[found.start() + len("hsa/gfx942/") :], archive.read(name)


def folder_objects(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The same for the objects under a folder."""
    for path in sorted(folder.rglob("*.co")):
        yield str(path.relative_to(folder)), path.read_bytes()


def share_of_bounds(executable: Executable, launch: Launch, obj: CodeObject, turn: int) -> float | None:
    """Runs a launch and gives the largest share of a bound that a result takes up; None when it does not end well."""
    image = build_image(launch, obj)
    done = execute(executable, launch, image, limits=Limits(quantum=turn))
    if done.status != "done" or image.overrun():
        why = done.fault.message if done.fault else image.overrun() or done.status
        print(f"  {launch.name}: {why}", file=sys.stderr)
        return None
    return max(comparison.used for comparison in launch.recipe.compare(image))


def measure(family: Family, name: str, obj: CodeObject, launches: list[Launch], cache: BlockCache) -> bool:
    """Runs one object; whether all of its results agree."""
    started = time.process_time()
    executable = Executable.build(recover(obj), cache)
    agrees = True
    for launch in launches:
        used = share_of_bounds(executable, launch, obj, TURN)
        if used is not None and used > 1:
            used = share_of_bounds(Executable.build(executable.program, cache, single=True), launch, obj, 1)
            family.lockstep.append(f"{name} {launch.name}")
        family.add(f"{name} {launch.name}", used)
        agrees &= used is not None and used <= 1
        if launch.name == "ragged":
            alone = share_of_bounds(executable, launch, obj, Limits().quantum)
            if alone is None or alone > 1:
                family.order_dependent.append(name)
    family.objects += 1
    family.cpu_seconds += time.process_time() - started
    return agrees


def sizes(family: Family, launches: tuple[Launch, ...]) -> list[Launch]:
    """The launches that an object is run at."""
    if isinstance(launches[0].recipe, FmoeStage1) and family.objects >= WHOLE:
        return [launch for launch in launches if launch.name == "ragged"]
    return list(launches)


def dense(launch: Launch) -> Launch:
    """The launch with numbers in all of its operands."""
    recipe = launch.recipe
    return replace(recipe, apart=False).launch(launch.name) if isinstance(recipe, FmoeOneStage) else launch


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; 1 when a result disagrees or nothing was run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--family", default="", help="only families whose name contains this")
    parser.add_argument("--each", type=int, default=0, help="most objects of a family; 0 for all")
    parser.add_argument("--folder", type=Path, help="a folder of objects instead of the wheel")
    options = parser.parse_args(arguments)
    families: dict[str, Family] = {}
    disagreements: list[str] = []
    wrong: list[str] = []
    cache = BlockCache()
    for name, data in folder_objects(options.folder) if options.folder else wheel_objects():
        try:
            obj = CodeObject.parse(data, name)
            launches = tuple(map(dense, for_object(obj)))
        except (InputError, UnsupportedError):  # no object of a known family
            continue
        label = family_of(launches[0].recipe)
        family = families.setdefault(label, Family(label))
        if options.family not in label or (options.each and family.objects >= options.each):
            continue
        print(f"{label}: {name}", file=sys.stderr)
        if not measure(family, name, obj, sizes(family, launches), cache):
            (wrong if hashlib.sha256(data).hexdigest() in WRONG else disagreements).append(name)
    shown = [family for family in families.values() if family.objects]
    told = [*(f"disagrees: {name}" for name in disagreements), *(f"is wrong itself: {name}" for name in wrong)]
    for line in (*shown, *told):
        print(line)
    if options.json:
        print_json(
            {"families": [family.to_json() for family in shown], "disagreements": disagreements, "wrong_objects": wrong}
        )
    return 1 if disagreements or not shown else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")
