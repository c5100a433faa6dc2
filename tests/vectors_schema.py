"""As much of JSON Schema as the schema of vectors needs."""

import re

KNOWN = {
    "$schema", "title", "$defs", "$ref", "type", "required", "additionalProperties", "properties",
    "minProperties", "items", "minItems", "maxItems", "enum", "const", "anyOf", "pattern",
    "minimum",
}  # fmt: skip
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def violations(value, schema, root=None, path="$"):
    """Where and why the value does not follow."""
    root = root or schema
    assert set(schema) <= KNOWN, schema
    if "$ref" in schema:
        return violations(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    if "anyOf" in schema:
        fits = any(not violations(value, each, root, path) for each in schema["anyOf"])
        return [] if fits else [f"{path}: {value!r} is none of them"]
    if "enum" in schema or "const" in schema:
        right = value in schema.get("enum", [schema.get("const")])
        return [] if right else [f"{path}: {value!r}"]
    wanted = TYPES[schema["type"]]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        return [f"{path}: {value!r} is no {schema['type']}"]
    found = []
    if wanted is str and not re.search(schema.get("pattern", ""), value):
        found.append(f"{path}: {value!r}")
    if wanted is int and value < schema.get("minimum", value):
        found.append(f"{path}: {value!r}")
    if wanted is list:
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{path} has {len(value)}")
        for i, each in enumerate(value):
            found += violations(each, schema["items"], root, f"{path}[{i}]")
    if wanted is dict:
        found += [f"{path} lacks {key}" for key in schema.get("required", ()) if key not in value]
        if len(value) < schema.get("minProperties", 0):
            found.append(f"{path} has too few keys")
        for key, each in value.items():
            if key not in schema["properties"]:
                found.append(f"{path} has {key}")
            else:
                found += violations(each, schema["properties"][key], root, f"{path}.{key}")
    return found
