"""Types of columns in DuckDB."""

_TYPES = {"string": "varchar", "binary": "blob"}


def duckdb_type(spark: str) -> str:
    """A type in DuckDB from one in Spark's DDL: `map<string,int>` is `map(varchar, int)`."""
    outer, nested, inner = spark.partition("<")
    if not nested:
        return _TYPES.get(outer, outer)
    parts = _parts(inner[:-1])
    if outer == "array":
        return f"{duckdb_type(parts[0])}[]"
    if outer == "struct":
        fields = [part.partition(":") for part in parts]
        return "struct(" + ", ".join(f'"{name}" {duckdb_type(type)}' for name, _, type in fields) + ")"
    return f"{outer}({', '.join(map(duckdb_type, parts))})"


def _parts(inner: str) -> list[str]:
    """What commas separate, except within a nested type."""
    found, depth = [""], 0
    for letter in inner:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found
