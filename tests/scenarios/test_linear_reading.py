"""Reading takes time and memory in proportion to the bytes, whatever they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.scenarios.reading import MOST_VALUES, Unreadable, decode_json, without_strings

ROOT = Path(__file__).parents[2]
SECONDS = 60
"""Of the processor, for all shapes. They take four. A decoder that goes back takes hours for a single one."""
MEMORY = 512 << 20
_READ = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
from pathlib import Path
from conformance.components import COMPONENTS
from conformance.scenarios import SchemaError, decode_scenario, read_toml
from conformance.scenarios.reading import MOST_BYTES_OF_TOML, decode_json
from tests.hostile import SHAPES, TOML_SHAPES
for name, make in SHAPES.items():
    print(name, flush=True)
    data = make(8 << 20)
    try:
        decode_json(data, object)
    except ValueError as told:
        assert len(str(told)) < 2_000
    try:
        decode_scenario(data.decode(errors="replace")[:4 << 20], COMPONENTS)
    except SchemaError as told:
        assert len(str(told)) < 2_100
for name, make in TOML_SHAPES.items():
    print(name, flush=True)
    path = Path(sys.argv[1])
    path.write_bytes(make(MOST_BYTES_OF_TOML // 4))
    try:
        read_toml(path, dict, "something else")
    except SchemaError as told:
        assert len(str(told)) < 2_100
"""


@pytest.mark.slow  # files of megabytes in many shapes
def test_no_shape_takes_much_more_than_another(tmp_path):
    command = [sys.executable, "-c", _READ, str(tmp_path / "shape.toml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"while it read {done.stdout.splitlines()[-1:]}: {done.stderr[-2_000:]}"


def one_by_one(data: bytes) -> bytes:
    """The same as `without_strings`, by looking at each byte once."""
    bare, inside, escaped = bytearray(), False, False
    for byte in data:
        if inside:
            inside = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
        elif byte == ord('"'):
            inside = True
        else:
            bare.append(byte)
    return bytes(bare)


@given(
    st.lists(st.sampled_from([b'"', b"[", b"1", b"abc,", b'"\\"', b'"\\\\"', b'"a\\u0041"', b'"[\\\\\\"'])),
    st.integers(1, 9),
)
def test_strings_are_left_out_wherever_they_are_cut(parts, piece):
    data = b"".join(parts)
    outside = one_by_one(data)
    if b"\\" not in outside:  # JSON has none outside of strings
        assert without_strings(data, piece) == outside


def test_there_is_a_limit_to_the_number_of_values():
    many = b"[" + b"0," * MOST_VALUES + b"0]"
    with pytest.raises(Unreadable, match="there are more than 4,194,304 values"):
        decode_json(many, object)
    assert decode_json(b'["' + many.replace(b"0", b"") + many[1:-2] + b'"]', list)
