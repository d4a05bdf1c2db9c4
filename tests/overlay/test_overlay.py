"""Installing, rolling back and looking, in trees as engines have them; kills at every step; whatever does not fit."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest

import small_objects
from asmevo.codeobject import CodeObject
from asmevo.gate.certificate import certificate, digest
from asmevo.gate.report import Report
from asmevo.overlay import Options, install, rollback, status
from asmevo.overlay.admission import STAGES
from asmevo.overlay.transaction import opened
from asmevo.report import installed_text, overlay_text
from asmevo.verdict import AsmEvoError, Check, EnvironmentError_, InputError, UsageError, Verdict
from chasing import FOLLOW, follow

ADD = "v_add_u32_e32 v2, 0, v2"
A, B, C = (small_objects.build(FOLLOW.replace(ADD, line)) for line in ("s_nop 0", "s_nop 1", "s_nop 2"))
CSV = "tile_m,knl_name,co_name\n16,k0,kernel.co\n32,k0,again.co\n"


@lru_cache
def certified(candidate: bytes, k0: bytes | None = None, verdict: Verdict = Verdict.TESTED) -> dict[str, Any]:
    old, new = follow() if k0 is None else CodeObject.parse(k0), CodeObject.parse(candidate)
    checks = tuple(Check(name, Verdict.TESTED) for name in sorted(STAGES - {"proof"}))
    report = Report((*checks, Check("proof", verdict)))
    return certificate(old, new, (), (), report, {"chip": "mi300x", "device": "simulator"})


def altered(table: dict[str, Any], **values: object) -> dict[str, Any]:
    """Another certificate with its own right hash."""
    body = {key: value for key, value in (table | values).items() if value is not None}
    return body | {"sha256": digest(body)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An AITer tree in which K0 lies twice, with a manifest and other things."""
    folder = tmp_path / "hsa" / "gfx942" / "family"
    folder.mkdir(parents=True)
    for name, data in (("kernel.co", follow().data), ("again.co", follow().data), ("other.co", C)):
        (folder / name).write_bytes(data)
    (folder / "kernel.co").chmod(0o600)
    (folder / "family.csv").write_text(CSV)
    return tmp_path / "hsa"


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (p for p in root.rglob("*") if p.is_file() and ".asmevo" not in p.parts)
    return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_mode) for p in files}


def held(root: Path) -> list[bytes]:
    return [(root / "gfx942" / "family" / name).read_bytes() for name in ("again.co", "kernel.co")]


# --- in and out
def test_every_place_of_k0_is_replaced_and_put_back(tree):
    before = contents(tree)
    done = install(tree, certified(A), A)
    assert done.fresh and [c.path for c in done.entry.changes] == [
        "gfx942/family/again.co",
        "gfx942/family/kernel.co",
    ]
    assert held(tree) == [A, A]
    after = contents(tree)
    assert {name: mode for name, (_, mode) in after.items()} == {name: mode for name, (_, mode) in before.items()}
    assert {name for name in after if after[name] != before[name]} == {c.path for c in done.entry.changes}
    assert status(tree).as_installed
    rollback(tree)
    assert contents(tree) == before
    assert not (tree / ".asmevo").exists()


def test_installing_twice_changes_nothing(tree):
    install(tree, certified(A), A)
    journal = (tree / ".asmevo" / "journal.json").read_bytes()
    again = install(tree, certified(A), A)
    assert not again.fresh and again.entry.candidate == certified(A)["candidate"]["sha256"]
    assert (tree / ".asmevo" / "journal.json").read_bytes() == journal


def test_installations_over_each_other_come_off_one_by_one(tree):
    before = contents(tree)
    install(tree, certified(A), A)
    install(tree, certified(B), B)  # another candidate of the same K0
    install(tree, certified(C, B), C)  # and one that was made from that candidate
    assert held(tree) == [C, C]
    found = status(tree)
    assert [[f.state for f in files] for _, files in found.entries] == [
        ["covered"] * 2,
        ["covered"] * 2,
        ["installed"] * 2,
    ]
    for wanted in (B, A):
        rollback(tree)
        assert held(tree) == [wanted, wanted] and status(tree).as_installed
    rollback(tree)
    assert contents(tree) == before
    with pytest.raises(InputError, match="Nothing is installed"):
        rollback(tree)


def test_a_file_is_made_where_k0_is_not_there(tmp_path):
    options = Options(create="KEY/k.hsaco")
    install(tmp_path, certified(A), A, follow().data, options)
    assert contents(tmp_path).keys() == {"KEY/k.hsaco"} and (tmp_path / "KEY" / "k.hsaco").read_bytes() == A
    assert not install(tmp_path, certified(A), A, follow().data, options).fresh
    install(tmp_path, certified(B), B, None, options)
    rollback(tmp_path)
    assert (tmp_path / "KEY" / "k.hsaco").read_bytes() == A
    rollback(tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- refusals
def refused(
    tree: Path, words: str, table: dict[str, Any], candidate: bytes = A, options: Options | None = None
) -> None:
    before = contents(tree)
    with pytest.raises(InputError, match=words):
        install(tree, table, candidate, None, options)
    assert contents(tree) == before and not (tree / ".asmevo").exists()


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.REFUTED])
def test_what_was_not_admitted(tree, verdict):
    refused(tree, f"says {verdict.value}", certified(A, None, verdict))


def test_a_certificate_that_was_changed(tree):
    refused(tree, "was changed", certified(A) | {"verdict": "PROVED"})


def test_a_certificate_without_a_stage(tree):
    checks = [c for c in certified(A)["checks"] if c["name"] != "differential"]
    refused(tree, "without the check 'differential'", altered(certified(A), checks=checks))
    checks = [c for c in certified(A)["checks"] if c["name"] != "checked"]
    refused(tree, "without the check 'checked'", altered(certified(A), checks=checks))


@pytest.mark.parametrize("verdict", ["REFUTED", "TESTED"])
def test_a_certificate_that_names_a_check_twice(tree, verdict):
    checks = [{"name": "static", "verdict": verdict, "findings": [], "facts": {}}, *certified(A)["checks"]]
    refused(tree, "'static' more than once", altered(certified(A), checks=checks))


def test_a_certificate_whose_checks_say_something_else(tree):
    table = certified(A, None, Verdict.UNKNOWN)
    refused(tree, "one of its checks does not", altered(table, verdict="TESTED"))
    refused(tree, "lacks the key 'checks'|without the check", altered(certified(A), checks=None))
    refused(tree, "verdict in certificate is none", altered(certified(A), verdict="FINE"))


def inexact(**facts: object) -> dict[str, Any]:
    """A certificate of results that are not K0's, with other facts of its check."""
    checks = [c | {"facts": {"inexact": True}} if c["name"] == "differential" else c for c in certified(A)["checks"]]
    return altered(certified(A), checks=checks, inexact={"bound": 1.1, "metric": "", "largest_ratio": 1.05}, **facts)


@pytest.mark.parametrize("bound", [None, 1.0, 2.0, float("nan")])
def test_other_results_than_those_of_k0_need_their_bound(tree, bound):
    before = contents(tree)
    with pytest.raises(UsageError, match=r"INEXACT: .* give --allow-inexact 1\.1 to"):
        install(tree, inexact(), A, None, Options(inexact=bound))
    assert contents(tree) == before and not (tree / ".asmevo").exists()


def test_other_results_than_those_of_k0_are_called_so(tree):
    done = install(tree, inexact(), A, None, Options(inexact=1.1))
    assert done.to_json()["entry"]["inexact"] == 1.1
    assert "TESTED INEXACT (up to 1.1 times K0's error) for k0 on" in installed_text(done.to_json(), "hsa")
    found = status(tree)  # read again
    assert found.entries[0][0] == done.entry and "TESTED INEXACT" in overlay_text(found.to_json(), "hsa")
    install(tree, certified(B), B, None, Options(inexact=1.1))
    assert "inexact" not in status(tree).to_json()["entries"][1]
    assert "INEXACT" not in overlay_text(status(tree).to_json(), "hsa").splitlines()[3]


def test_a_certificate_that_does_not_say_what_its_checks_found(tree):
    refused(tree, "does not say that one of its checks", altered(inexact(), inexact=None))


def test_another_candidate_than_that_of_the_certificate(tree):
    refused(tree, "about another candidate", certified(A), B)


def test_another_k0(tree):
    for name in ("kernel.co", "again.co"):
        (tree / "gfx942" / "family" / name).write_bytes(B)
    refused(tree, "is K0", certified(A))


def test_other_arguments(tree):
    smaller = small_objects.build(FOLLOW, FOLLOW)
    refused(tree, "has 2 kernels and K0 1", certified(smaller), smaller)
    longer = small_objects.build(FOLLOW, private=64)
    assert CodeObject.parse(longer).kernels[0].args  # more scratch is no other interface
    install(tree, certified(longer), longer)


def test_another_target_and_another_chip(tree):
    place = tree / "gfx942"
    place.rename(tree / "gfx950")
    refused(tree, "is for gfx950 and the candidate for gfx942", certified(A))
    (tree / "gfx950").rename(place)
    refused(tree, "was verified for mi300x and the folder serves mi325x", certified(A), A, Options(chip="mi325x"))
    (place / "family").rename(place / "MI308")
    refused(tree, "is for MI308 and the candidate was verified for mi300x", certified(A))


def of_gpu(**values: object) -> dict[str, Any]:
    """A certificate of what was verified on a GPU."""
    chip = {"target": "gfx942", "compute_units": 80, "sku": "AMD Instinct MI308X"} | values
    return altered(certified(A), device={"device": "hip", "chip": {k: v for k, v in chip.items() if v is not None}})


def test_what_was_verified_on_a_gpu(tree):
    place = tree / "gfx942"
    (place / "family").rename(place / "MI300")
    refused(tree, "is for MI300 and the candidate was verified for AMD Instinct MI308X", of_gpu())
    (place / "MI300").rename(place / "MI308")
    refused(tree, "MI308X and the folder serves mi300x", of_gpu(), A, Options(chip="mi300x"))
    refused(tree, "is for MI308 and the candidate was verified for unnamed", of_gpu(sku="unnamed"))
    refused(
        tree, "is for gfx942 and of the chip AMD Instinct MI350X", of_gpu(target="gfx950", sku="AMD Instinct MI350X")
    )
    refused(tree, "chip of the device lacks the key 'compute_units'", of_gpu(compute_units=None))
    assert install(tree, of_gpu(), A, None, Options(chip="mi308x")).entry.chip == "AMD Instinct MI308X"
    assert status(tree).as_installed


def test_a_manifest_that_cannot_be_read(tree):
    (tree / "gfx942" / "family" / "family.csv").write_text("a,b\n" + "x" * 200_000 + ",1\n")
    refused(tree, "family.csv cannot be read as CSV", certified(A))


def test_a_manifest_that_asks_for_a_kernel_that_would_be_gone(tree, monkeypatch):
    from asmevo.overlay import places

    old, new = follow(), CodeObject.parse(A)
    gone = replace(new, kernels=(replace(new.kernels[0], name="k9", symbol="k9.kd"),))
    with pytest.raises(InputError, match=r"family.csv asks for the kernel k0"):
        places.check_place(tree, "gfx942/family/kernel.co", gone, old, "mi300x")


def test_a_triton_cache_for_another_target(tree):
    folder = tree / "gfx942" / "family"
    (folder / "kernel.co").rename(folder / "kernel.hsaco")
    (folder / "kernel.json").write_text(json.dumps({"target": {"backend": "hip", "arch": "gfx950"}}))
    refused(tree, "kernel.json is for gfx950", certified(A))
    (folder / "kernel.json").write_text(json.dumps({"target": {"backend": "hip", "arch": "gfx942"}}))
    install(tree, certified(A), A)


def test_a_link_out_of_the_folder(tree, tmp_path):
    outside = tmp_path / "elsewhere.co"
    outside.write_bytes(follow().data)
    (tree / "gfx942" / "family" / "link.co").symlink_to(outside)
    refused(tree, "outside of the folder", certified(A))
    (tree / "gfx942" / "family" / "link.co").unlink()
    (tree / "link.co").symlink_to(tree / "gfx942" / "family" / "kernel.co")
    install(tree, certified(A), A)
    assert (tree / "link.co").is_symlink() and (tree / "link.co").read_bytes() == A


@pytest.mark.parametrize(
    "path", ["out/k.co", "in/k.co", ".asmevo/pending.json", "x/.asmevo/k.co", "../k.co", "/k.co", "."]
)
def test_a_file_is_made_in_the_folder_only(tree, tmp_path, path):
    (tmp_path / "outside").mkdir()
    (tree / "out").symlink_to(tmp_path / "outside")
    (tree / ".asmevo").mkdir()
    (tree / "in").symlink_to(tree / ".asmevo")
    with pytest.raises(InputError, match="leads outside of"):
        install(tree, certified(A), A, follow().data, Options(create=path))
    assert not list((tmp_path / "outside").iterdir()) and not (tmp_path / "k.co").exists()


def test_a_folder_that_was_replaced_by_a_link_out(tree, tmp_path):
    install(tree, certified(A), A)
    (tree / "gfx942" / "family").rename(tmp_path / "moved")
    (tree / "gfx942" / "family").symlink_to(tmp_path / "moved")
    before = contents(tmp_path / "moved")
    for action in (lambda: install(tree, certified(B), B), lambda: rollback(tree)):
        with pytest.raises(InputError, match="leads outside of"):
            action()
    assert contents(tmp_path / "moved") == before and not status(tree).interrupted


def test_a_file_that_changes_meanwhile(tree):
    path = tree / "gfx942" / "family" / "kernel.co"

    def step(said: str) -> None:
        if said == "kept gfx942/family/again.co":
            path.write_bytes(b"an upgrade")

    with pytest.raises(InputError, match=r"kernel.co was changed by something else meanwhile"):
        install(tree, certified(A), A, step=step)
    assert held(tree) == [follow().data, b"an upgrade"] and not (tree / ".asmevo").exists()


def test_what_something_else_changed_is_never_written_over(tree):
    install(tree, certified(A), A)
    path = tree / "gfx942" / "family" / "kernel.co"
    path.write_bytes(b"an upgrade")
    assert not status(tree).as_installed
    assert [f.state for _, files in status(tree).entries for f in files] == ["installed", "changed"]
    for action in (lambda: install(tree, certified(B), B), lambda: rollback(tree)):
        with pytest.raises(InputError, match="changed by something else"):
            action()
    assert path.read_bytes() == b"an upgrade"
    path.write_bytes(follow().data)  # K0 put back by hand
    assert [f.state for _, files in status(tree).entries for f in files] == ["installed", "original"]
    rollback(tree)
    assert held(tree) == [follow().data] * 2


def test_a_damaged_or_foreign_journal(tree):
    install(tree, certified(A), A)
    path = tree / ".asmevo" / "journal.json"
    good = path.read_text()
    for text, words in (("{", "damaged"), (good.replace("overlay/1", "overlay/7"), "overlay/7")):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            status(tree)
    for other in ("../kernel.co", ".asmevo/pending.json"):
        path.write_text(good.replace("gfx942/family/kernel.co", other))
        with pytest.raises(InputError, match="outside of the overlay"):
            rollback(tree)


def test_one_writer_at_a_time(tree):
    with opened(tree), pytest.raises(EnvironmentError_, match="by another process"):
        install(tree, certified(A), A)


def test_no_folder(tmp_path):
    for action in (lambda: install(tmp_path / "x", certified(A), A), lambda: status(tmp_path / "x")):
        with pytest.raises(InputError, match="is no folder"):
            action()


# --- kills
def killed(action: Callable[[], object], at: int) -> bool:
    """Run in a child that is killed at the n-th time it forces a file to the disk; whether it came to that."""
    pid = os.fork()
    if not pid:
        calls, sync = 0, os.fsync

        def die(handle: int) -> None:
            nonlocal calls
            calls += 1
            if calls > at:
                os.kill(os.getpid(), signal.SIGKILL)
            sync(handle)

        os.fsync = die
        try:
            action()
        except AsmEvoError:
            os._exit(9)
        os._exit(0)
    _, code = os.waitpid(pid, 0)
    assert code in (0, signal.SIGKILL), code
    return code != 0


@pytest.mark.parametrize("what", ["install", "over", "rollback"])
def test_a_kill_at_any_moment_loses_nothing(tree, tmp_path, what):
    if what != "install":
        install(tree, certified(A), A)
    old = held(tree)
    new = {"install": [A, A], "over": [B, B], "rollback": [follow().data] * 2}[what]
    candidate = A if what == "install" else B
    ends: list[list[bytes]] = []
    for at in range(100):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        copy = Path(shutil.copytree(tree, tmp_path / "copy"))
        action: Callable[..., object] = partial(install, copy, certified(candidate), candidate)
        if what == "rollback":
            action = partial(rollback, copy)
        if not killed(action, at):
            break
        assert all(data in (*old, *new) for data in held(copy))  # never half a file
        with opened(copy):
            ends.append(held(copy))
        assert ends[-1] in (old, new) and status(copy).as_installed
        assert not list(copy.rglob("*.part"))
        if ends[-1] == old:
            action()
            assert held(copy) == new
    assert old in ends and new in ends and ends == sorted(ends, key=lambda end: end != old)


def test_a_crash_while_undoing_is_undone_as_well(tree):
    def stop(wanted: str) -> Callable[[str], None]:
        def step(said: str) -> None:
            if said.startswith(wanted):
                os.kill(os.getpid(), signal.SIGKILL)

        return step

    assert killed(lambda: install(tree, certified(A), A, step=stop("changed gfx942/family/kernel")), 1000)
    assert held(tree) == [A, A] and status(tree).interrupted
    assert killed(lambda: install(tree, certified(A), A, step=stop("undone gfx942/family/again")), 1000)
    assert status(tree).interrupted
    install(tree, certified(B), B)
    assert held(tree) == [B, B] and status(tree).as_installed
    rollback(tree)
    assert held(tree) == [follow().data] * 2
