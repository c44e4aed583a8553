"""What the built-in transports say about their platforms is what `describe.schema.json` allows."""

import json
import pathlib
import re

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "include/carillon/describe.schema.json").read_text())
SOURCES = sorted((ROOT / "Plugins").glob("*/*/*Description.swift"))


def document(source):
    """The JSON in a Swift literal, whose lines are indented and may be continued."""
    text = re.search(r'#"""\n(.*?)\n( *)"""#', source.read_text(), re.DOTALL)
    indentation = text[2]
    lines = [line.removeprefix(indentation) for line in text[1].split("\n")]
    return json.loads("\n".join(lines).replace("\\#\n", ""))


def test_there_are_descriptions():
    assert len(SOURCES) == 11


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_built_in_description_fits_the_schema(source):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(document(source))


@pytest.mark.parametrize(
    "change",
    [{"colour": "red"}, {"target": {"kind": "pigeon"}}, {"version": 2}, {"rules": {"properties": {"a": {"x-colour": 1}}}}],
)
def test_the_schema_refuses_unknown_keys(change):
    least = {"version": 1, "name": "Pager", "target": {"kind": "token"}}
    jsonschema.validate(least, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**least, **change}, SCHEMA)
