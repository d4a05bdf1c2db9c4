"""`asmevo debug`: run a launch to a line or to a change, and show what a wave holds there."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from asmevo.cli.inputs import read_object, the_launch
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, LaunchName, LaunchPaths, ObjectPath
from asmevo.launch import build_image
from asmevo.program import recover
from asmevo.report import stop_facts, stop_text
from asmevo.sim import BlockCache, Debugger, Stepper, Watch
from asmevo.verdict import UsageError


def debug(
    k0: ObjectPath,
    launch: LaunchPaths,
    name: LaunchName = None,
    at: Annotated[int | None, Option("--at", help="Line id to stop in front of, as `asmevo recover` lists it.")] = None,
    watch: Annotated[
        list[str] | None, Option("--watch", help="Register (v12, s[4:5]) or address (0x..:8, lds:64:4) to watch.")
    ] = None,
    workgroup: Annotated[list[int] | None, Option("--workgroup", help="Run only this workgroup.", min=0)] = None,
    wave: Annotated[int | None, Option("--wave", help="Stop only this wave of a workgroup.", min=0)] = None,
    skip: Annotated[int, Option("--skip", help="Pass the line this many times first.", min=0)] = 0,
    stops: Annotated[int, Option("--stops", help="Changes to show before giving up on the line.", min=1)] = 10,
    json: Json = False,
) -> None:
    """Execute a launch one instruction at a time; stop in front of a line, and show every change of what is watched."""
    if at is None and not watch:
        raise UsageError("Nothing to stop for; give --at LINE or --watch REGISTER.")
    obj = read_object(k0)
    one = the_launch(launch, name, obj)
    program = recover(obj, one.kernel)
    if at is not None:
        program.line(at)
    image = build_image(one, obj, program.kernel)
    image.load(obj)
    memory = image.on_device
    stepper = Stepper(program, one, memory, BlockCache(), workgroups=workgroup or None)
    debugger = Debugger(stepper, memory, tuple(Watch.parse(text) for text in watch or ()))
    facts: list[dict[str, Any]] = []
    texts: list[str] = []
    while len(facts) < stops:
        stop = debugger.run(line=at, wave=wave, skip=skip)
        state = None if stop.step is None else debugger.state(stop.step)
        texts.append(stop_text(stop, state, stepper.fault))
        facts.append(stop_facts(stop, state, stepper.fault))
        if stop.reason != "watch":
            break
    emit({"launch": one.name, "stops": facts}, lambda: "\n".join(texts), json)
