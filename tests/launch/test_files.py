"""Launch files: what is written is read back, and every bad file gives one sentence."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.launch import (
    RECIPES,
    Bits,
    BlockScaledGemm,
    Buffer,
    Constant,
    Data,
    Field,
    File,
    FmoeStage1,
    Integers,
    Launch,
    Random,
    Softmax,
    Zeros,
    load_launches,
    save_launch,
)
from asmevo.verdict import InputError

SPELLED = """
name = "small"
kernel = "k"
grid = [3]
block = [64, 2]
dynamic_lds = 512
objective = true
weight = 2.5
sample = 2
[[kernarg]]
offset = 0
buffer = "x"
byte_offset = 4
[[kernarg]]
name = "n"
value = 7
[[buffer]]
name = "x"
role = "in"
dtype = "bf16"
shape = [2, 3]
fill = {kind = "random", seed = 3, distribution = "uniform", low = 0.0}
[[buffer]]
name = "y"
role = "out"
dtype = "float32"
size = 8
align = 16
red_zone = 64
"""


def write(folder, text, name="l.toml"):
    path = folder / name
    path.write_text(text)
    return path


def test_everything_spelled_out(tmp_path):
    (launch,) = load_launches(write(tmp_path, SPELLED))
    assert launch == Launch(
        name="small",
        kernel="k",
        grid=(3, 1, 1),
        block=(64, 2, 1),
        dynamic_lds=512,
        objective=True,
        weight=2.5,
        sample=2,
        kernarg=(Field(offset=0, buffer="x", byte_offset=4), Field("n", value=7)),
        buffers=(
            Buffer("x", "in", "bf16", (2, 3), Random(3, "uniform", 0.0)),
            Buffer("y", "out", "float32", (8,), None, 16, 64),
        ),
    )


def test_a_list_in_a_file_and_a_folder_in_order(tmp_path):
    head = '[[launch]]\nname = "{}"\nrecipe = "aiter.fmoe_stage1"\n[launch.arguments]\n'
    body = "tokens = 1\nexperts = 1\ntopk = 1\ndim = 128\ninter = 128\n"
    write(tmp_path, head.format("b") + body + head.format("c") + body, "2.toml")
    write(tmp_path, json.dumps({"name": "a", "grid": [1], "block": [64]}), "1.json")
    write(tmp_path, "not a launch", "notes.txt")
    assert [launch.name for launch in load_launches(tmp_path)] == ["a", "b", "c"]


def test_the_name_defaults_to_that_of_the_file(tmp_path):
    assert load_launches(write(tmp_path, "grid=[1]\nblock=[64]", "edge.toml"))[0].name == "edge"


fills = st.one_of(
    st.just(Zeros()),
    st.builds(Constant, st.floats(-9, 9)),
    st.builds(Random, st.integers(0, 99), st.sampled_from(["normal", "uniform"])),
    st.builds(Integers, st.integers(0, 99), st.integers(-9, 0), st.integers(0, 9)),
    st.builds(Bits, st.integers(0, 99)),
    st.builds(Data, st.lists(st.integers(0, 9), max_size=3).map(tuple)),
)
launches = st.builds(
    Launch,
    name=st.just("round"),
    grid=st.tuples(*[st.integers(1, 9)] * 3),
    block=st.tuples(*[st.integers(1, 9)] * 3),
    kernarg=st.lists(
        st.one_of(
            st.builds(Field, st.sampled_from(["", "n"]), st.integers(0, 99), st.integers(-5, 5), type=st.just("i64")),
            st.builds(Field, offset=st.integers(0, 99), buffer=st.just("x"), byte_offset=st.integers(0, 4)),
        ),
        max_size=3,
    ).map(tuple),
    buffers=st.builds(lambda f: (Buffer("x", "inout", "i8", (4, 2), f),), fills),
    objective=st.booleans(),
    weight=st.floats(0.1, 10),
    sample=st.integers(0, 3),
    dynamic_lds=st.integers(0, 100),
)


@settings(max_examples=80, deadline=None)
@given(launches)
def test_round_trip(tmp_path_factory, launch):
    folder = tmp_path_factory.mktemp("launches")
    (back,) = load_launches(save_launch(launch, folder))
    assert back == launch and back.digest == launch.digest


@pytest.mark.parametrize(
    "recipe",
    [
        FmoeStage1(tokens=3, experts=2, topk=1, dim=128, inter=128, seed=4),
        BlockScaledGemm(m=3, n=16, k=128, values="integers"),
        Softmax(rows=3, columns=48, values="wide"),
    ],
)
def test_recipes_round_trip(tmp_path, recipe):
    assert load_launches(save_launch(recipe.launch("r"), tmp_path)) == (recipe.launch("r"),)
    assert RECIPES[recipe.name] is type(recipe)


def test_data_files_are_relative_to_the_launch_file(tmp_path, monkeypatch):
    text = 'grid=[1]\nblock=[64]\n[[buffer]]\nname="x"\nrole="in"\ndtype="u8"\nshape=[4]\n'
    path = write(tmp_path, text + 'fill={kind="file", path="x.bin", offset=1}\n')
    (tmp_path / "x.bin").write_bytes(bytes(range(9)))
    monkeypatch.chdir(tmp_path)
    (launch,) = load_launches(path.name)
    fill = launch.buffer("x").fill
    assert fill == File("x.bin", 1) and fill.to_json() == {"kind": "file", "path": "x.bin", "offset": 1}
    monkeypatch.chdir("/")
    assert fill.raw(4).tolist() == [1, 2, 3, 4]


def test_a_launch_with_data_files_is_the_same_wherever_it_lies(tmp_path):
    text = GOOD + X + 'shape=[4]\nfill={kind="file", path="x.bin"}\n'
    launches = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        launches += load_launches(write(tmp_path / name, text))
    assert launches[0] == launches[1] and launches[0].digest == launches[1].digest


def test_the_digest_tells_launches_apart():
    one, two = (FmoeStage1(tokens=3, experts=2, topk=1, dim=128, inter=128, seed=s).launch("r") for s in (1, 2))
    assert one.digest != two.digest


GOOD = "grid=[1]\nblock=[64]\n"
X = '[[buffer]]\nname="x"\nrole="in"\ndtype="u8"\n'
BAD = {
    "no toml": ("grid = [", "not valid TOML"),
    "deep nesting": ("grid = " + "[" * 20000, "not valid TOML"),
    "unknown key": (GOOD + "gird = 3", "'gird'"),
    "no grid": ("block=[64]", "'grid'"),
    "zero grid": ("grid=[0]\nblock=[64]", "grid"),
    "grid of words": ('grid=["a"]\nblock=[64]', "'grid' in launch 'l' .* list of whole numbers, not"),
    "grid of truths": ("grid=[true]\nblock=[64]", "list of whole numbers"),
    "grid of floats": ("grid=[1.0]\nblock=[64]", "list of whole numbers"),
    "an objective of words": (GOOD + 'objective="yes"', "'objective' .* true or false, not 'yes'"),
    "an objective of numbers": (GOOD + "objective=1", "true or false"),
    "a sample of truths": (GOOD + "sample=true", "whole number"),
    "a kernel of numbers": (GOOD + "kernel=3", "'kernel' .* a string, not 3"),
    "a name of numbers": (GOOD + "name=3", "'name' .* a string, not 3"),
    "an offset of words": (GOOD + '[[kernarg]]\noffset="x"\nvalue=1', "'offset' in kernarg 0 .* whole number, not 'x'"),
    "a value of words": (GOOD + '[[kernarg]]\noffset=0\nvalue="x"', "'value' .* a number"),
    "a truth as value": (GOOD + "[[kernarg]]\noffset=0\nvalue=true", "'value' .* a number"),
    "a type of numbers": (GOOD + "[[kernarg]]\noffset=0\nvalue=1\ntype=4", "'type' .* a string"),
    "a byte offset of words": (GOOD + "[[kernarg]]\noffset=0\nvalue=1\nbyte_offset='1'", "'byte_offset'"),
    "a shape of words": (GOOD + X + "shape='1'", "'shape' in buffer 'x' .* list of whole numbers"),
    "a size of floats": (GOOD + X + "size=1.5", "'size' .* whole number"),
    "an alignment of words": (GOOD + X + "shape=[1]\nfill={kind='zeros'}\nalign='8'", "'align'"),
    "a red zone of truths": (GOOD + X + "shape=[1]\nfill={kind='zeros'}\nred_zone=true", "'red_zone'"),
    "a fill that is no table": (GOOD + X + "shape=[1]\nfill='zeros'", "fill of buffer 'x' .* table"),
    "a fill without kind": (GOOD + X + "shape=[1]\nfill={seed=1}", "'kind'"),
    "a seed of words": (GOOD + X + "shape=[1]\nfill={kind='bits', seed='1'}", "'seed' in fill .* whole number"),
    "a negative seed": (GOOD + X + "shape=[1]\nfill={kind='bits', seed=-1}", "seed -1 is negative"),
    "a distribution": (GOOD + X + "shape=[1]\nfill={kind='random', distribution='beta'}", "'beta'"),
    "an endless range": (
        GOOD + X + "shape=[1]\nfill={kind='random', distribution='uniform', high=inf}",
        "finite `low` below `high`",
    ),
    "an empty range": (GOOD + X + "shape=[1]\nfill={kind='integers', low=3, high=2}", "low` up to `high"),
    "values of words": (GOOD + X + "shape=[1]\nfill={kind='data', values=['a']}", "'values' .* list of numbers"),
    "a value that is too long": (
        GOOD + X + f"shape=[1]\nfill={{kind='data', values=[{1 << 63}, {1 << 63}0]}}",
        "64 bits",
    ),
    "a path of numbers": (GOOD + X + "shape=[1]\nfill={kind='file', path=3}", "'path'"),
    "a negative offset": (GOOD + X + "shape=[1]\nfill={kind='file', path='x', offset=-1}", "count from 0"),
    "a recipe of numbers": ("recipe=3", "'recipe' .* a string"),
    "arguments that are none": ('recipe="aiter.fmoe_stage1"\narguments=3', "must be a table"),
    "a recipe argument of words": (
        'recipe="triton.block_scaled_gemm"\n[arguments]\nm="1"\nn=16\nk=128',
        "'m' in recipe .* whole number, not '1'",
    ),
    "kernarg no table": (GOOD + "kernarg = 3", "list of tables"),
    "unknown field key": (GOOD + "[[kernarg]]\nname='n'\nval=3", "'val'"),
    "unknown buffer key": (GOOD + X + "shape=[1]\nfoo=1", "'foo'"),
    "buffer without shape": (GOOD + X, "shape or a size"),
    "buffer without name": (GOOD + '[[buffer]]\nrole="in"', "'name'"),
    "unknown dtype": (GOOD + '[[buffer]]\nname="x"\nrole="out"\ndtype="f9"\nshape=[1]', "f9"),
    "unknown fill": (GOOD + X + 'shape=[1]\nfill={kind="noise"}', "noise"),
    "unknown fill key": (GOOD + X + 'shape=[1]\nfill={kind="bits", sed=1}', "sed"),
    "unknown recipe": ('recipe="x.y"', "x.y"),
    "recipe argument": ('recipe="aiter.fmoe_stage1"\n[arguments]\ntoken=1', "'token'"),
    "recipe argument missing": ('recipe="aiter.fmoe_stage1"\n[arguments]\ntokens=1', "lacks the key 'experts'"),
    "recipe of a wrong size": ('recipe="triton.block_scaled_gemm"\n[arguments]\nm=1\nn=16\nk=100', "k=100"),
    "recipe with geometry": ('recipe="triton.block_scaled_gemm"\ngrid=[1]', "'grid'"),
    "weight of words": (GOOD + 'weight="much"', "'weight' .* a number, not 'much'"),
    "a list of nothing": ("launch=[3]", "list of tables"),
    "no table": ("[]", "must be a table", "l.json"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    text, words, *name = BAD[case]
    with pytest.raises(InputError, match=words) as caught:
        load_launches(write(tmp_path, text, *name))
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_launches(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="holds no launch file"):
        load_launches(tmp_path)


def test_two_launches_of_one_name(tmp_path):
    write(tmp_path, GOOD + 'name="a"', "1.toml")
    write(tmp_path, GOOD + 'name="a"', "2.toml")
    with pytest.raises(InputError, match="two launches named 'a'"):
        load_launches(tmp_path)
