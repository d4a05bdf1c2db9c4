from pathlib import Path

from asmevo.timing import compiled


def test_every_compiled_source_renews_the_cached_machine_code() -> None:
    folder = Path(compiled.__file__).parent
    with_code = {path.name for path in folder.glob("*.py") if "\n@compiled" in path.read_text()}
    assert with_code | {"layout.py", "compiled.py"} == set(compiled.SOURCES)
    assert compiled.revision().startswith("revision_")
