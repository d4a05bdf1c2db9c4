"""Inputs to start from, and what is done with a mutated one."""

from __future__ import annotations

from functools import cache

from asmevo.codeobject import CodeObject
from asmevo.codeobject.containers import Container
from asmevo.codeobject.metadata import decode_metadata
from asmevo.edit import Insert
from asmevo.program import check_rebuild, listing, parse_listing, rebuild, recover
from asmevo.report import container_facts, object_facts
from asmevo.verdict import AsmEvoError, EnvironmentError_, InputError
from tests.containers import HOST, bundle, compress, host_file, triple
from tests.small_objects import LOOP, build

MODES = ("file", "compressed", "section", "image", "note", "listing")
"""What the bytes behind the first stand for; that one chooses."""
LISTING = MODES.index("listing")


@cache
def seeds() -> tuple[bytes, ...]:
    """Small inputs of every kind, each with its mode in front."""
    objects = [build(LOOP), build(LOOP, LOOP, debug=True), build("s_endpgm", target="gfx950", preload=2)]
    objects += [build("s_endpgm", target="gfx1250"), build("s_endpgm", target="gfx90a")]
    plain = bundle({HOST: b"", triple("gfx942"): objects[0], triple("gfx950"): objects[2]}, align=64)
    files = [*objects, plain, host_file(plain), host_file(rodata=bytes(16) + objects[0] + objects[2])]
    files += [compress(plain, version, method) for version in (1, 2, 3) for method in ("zlib", "zstd")]
    files.append(host_file(compress(plain).ljust(4096, b"\0") + compress(plain, 2, "zlib")))
    found = [_in_mode("file", f) for f in files]
    found += [_in_mode(mode, plain) for mode in ("compressed", "section")]
    found += [_in_mode("image", o) for o in objects]
    note = CodeObject.parse(objects[0]).section(".note")
    assert note is not None
    found.append(_in_mode("note", objects[0][note.offset : note.offset + note.size]))
    found.append(_in_mode("listing", listing(recover(CodeObject.parse(objects[0]))).encode()))
    return tuple(found)


def _in_mode(mode: str, data: bytes) -> bytes:
    return bytes([MODES.index(mode)]) + data


def examine(data: bytes) -> str:
    """Read one input through all readers; the name of the error it ended in, or an empty string.

    Anything but a named error escapes. Errors of the environment do as well: no input may cause one.
    """
    mode, data = MODES[(data[0] if data else 0) % len(MODES)], data[1:]
    try:
        if mode == "note":
            decode_metadata(data, "fuzzed")
        elif mode == "listing":
            _listing(data)
        else:
            _file(_wrapped(mode, data))
    except EnvironmentError_:
        raise
    except AsmEvoError as error:
        assert str(error).endswith("."), error
        return type(error).__name__
    return ""


def _wrapped(mode: str, data: bytes) -> bytes:
    """The file that carries the data intact, so that what is inside of hashes is reached."""
    if mode == "compressed":
        return compress(data, 1 + len(data) % 3, "zlib" if len(data) % 2 else "zstd")
    if mode == "section":
        return host_file(data or b"\0")
    return host_file(rodata=data) if mode == "image" else data


def _file(data: bytes) -> None:
    container = Container.open(data, "fuzzed")
    container_facts(container)
    for entry in container.entries:
        content = container.extract(entry)
        if not entry.size:
            continue
        container.replace(entry, content)
        obj = CodeObject.parse(content, "fuzzed")
        object_facts(obj)
        obj.load_image()
        _edited(obj)


def _edited(obj: CodeObject) -> None:
    """Rebuild it as it is and with another instruction, where its code is a seed's: other code would need a process."""
    if (obj.target, obj.text_bytes) not in _known_code():
        return
    program = recover(obj, obj.kernels[0].name)
    data = rebuild(program)
    assert data == obj.data and check_rebuild(program, data).verdict.admitted
    edited, _ = Insert(program.entry, "s_nop 5").apply(program)
    try:  # damaged symbols may lead into an instruction, so the check may refuse it as well
        check_rebuild(edited, rebuild(edited))
    except InputError as error:  # nothing in it may be moved
        assert str(error).endswith("."), error


@cache
def _known_code() -> frozenset[tuple[str, bytes]]:
    """(target, instructions) of the seeds that are objects."""
    files = [s[1:] for s in seeds() if s[0] == MODES.index("image")]
    return frozenset((obj.target, obj.text_bytes) for obj in map(CodeObject.parse, files))


def _listing(data: bytes) -> None:
    obj = CodeObject.parse(build(LOOP))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    rebuild(parse_listing(text, obj))
