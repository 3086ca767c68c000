#!/usr/bin/env python3
"""Writes the types of the Python package, `flashlag/types.py`, of the JSON Schema of what flashlag writes.

    target/python/tests/bin/python scripts/python_types.py [FILE]

FILE is another place for the module, by which a test compares. The generator is datamodel-code-generator,
in the version of scripts/python-requirements.txt (scripts/python --tools installs it).
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "crates/schema/generated/written.schema.json"
MODULE = ROOT / "crates/python/python/flashlag/types.py"
HEAD = '''"""What a run, a comparison and an explanation hold, as types.

`run.data` is a `Run`, `comparison.data` a `ComparisonRecord`, `explained.data` an `Explained`, with the names
that docs/results-format.md describes. A type checker knows every key by them; at run time they are plain
dictionaries.

scripts/python_types.py makes this file; what is changed by hand is lost.
"""
'''
OPTIONS = {
    "--input-file-type": "jsonschema",
    "--output-model-type": "typing.TypedDict",
    "--target-python-version": "3.11",
    "--class-name": "Written",
    "--enum-field-as-literal": "all",
}
SWITCHES = [
    "--formatters",
    "black",
    "isort",
    # A field may be called `list`: within its class that is no type.
    "--no-use-standard-collections",
    "--use-schema-description",
    "--use-field-description",
    "--use-union-operator",
    "--disable-timestamp",
]


def camel(word: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", word))


class Names:
    """Definitions by name: each object of the schema becomes one, so that each has a name that says what it is."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.known = {name: self.plain(schema, name) for name, schema in definitions.items()}
        self.hoisted: dict[str, Any] = {}
        for name, schema in self.known.items():
            self.inside(schema, name)
        self.known |= self.hoisted

    def plain(self, schema: Any, name: str) -> Any:
        """Without what a type can't say."""
        if isinstance(schema, list):
            return [self.plain(one, name) for one in schema]
        if not isinstance(schema, dict):
            return schema
        without = {"format", "minimum", "maximum", "minItems", "maxItems", "additionalProperties"}
        kept = {}
        for key, value in schema.items():
            if key == "properties":
                kept[key] = {field: self.plain(one, name) for field, one in value.items()}
            elif key not in without or isinstance(value, dict):
                kept[key] = self.plain(value, name)
        if "prefixItems" in kept:
            # A pair is a list in Python, too.
            kinds = kept.pop("prefixItems")
            kept["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
        for field in set(kept.get("properties", ())) - set(kept.get("required", ())):
            # What may be absent is absent and not null.
            kept["properties"][field] = self.never_null(kept["properties"][field])
        return kept

    @staticmethod
    def never_null(schema: dict[str, Any]) -> dict[str, Any]:
        if isinstance(schema.get("type"), list):
            kinds = [kind for kind in schema["type"] if kind != "null"]
            return schema | {"type": kinds[0] if len(kinds) == 1 else kinds}
        if "anyOf" in schema:
            kinds = [one for one in schema["anyOf"] if one.get("type") != "null"]
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return rest | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
        return schema

    def inside(self, schema: Any, name: str) -> None:
        """Gives a name to each object within a schema."""
        for variants in ("oneOf", "anyOf"):
            for place, one in enumerate(schema.get(variants, ())):
                schema[variants][place] = self.named(one, name)
        for field, one in schema.get("properties", {}).items():
            schema["properties"][field] = self.named(one, name + camel(field))
        if isinstance(schema.get("items"), dict):
            schema["items"] = self.named(schema["items"], name)

    def named(self, schema: dict[str, Any], name: str) -> dict[str, Any]:
        fields = schema.get("properties")
        if fields is None:
            self.inside(schema, name)
            return schema
        if list(fields) == ["unavailable"]:
            name = "Unavailable"
        elif "const" in fields.get("kind", {}):
            name += camel(fields["kind"]["const"])
        elif len(fields) == 1:
            name += camel(next(iter(fields)))
        taken = self.known.get(name, self.hoisted.get(name))
        if taken is not None and taken != schema:
            sys.exit(f"python_types: two types would be called {name}: name one of them in the schema")
        self.hoisted[name] = schema
        self.inside(schema, name)
        return {"$ref": f"#/$defs/{name}"}


def module() -> str:
    """The module's text."""
    schema = json.loads(SCHEMA.read_text())
    schema["$defs"] = Names(schema["$defs"]).known
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "written.json").write_text(json.dumps(schema))
        words = [word for option in OPTIONS.items() for word in option]
        command = [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator", *words, *SWITCHES]
        command += ["--input", str(folder / "written.json"), "--output", str(folder / "types.py")]
        subprocess.run(command, check=True)
        text = (folder / "types.py").read_text()
    return HEAD + text[text.index("\nfrom __future__") :]


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else MODULE).write_text(module())
