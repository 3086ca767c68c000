#!/usr/bin/env python3
"""Checks the programs that scripts/dist has built, and writes what goes with them: the list of what is in
them (CycloneDX) and the SHA-256 sums of all. Their bytes depend on the sources and tools alone."""
import hashlib, json, os, pathlib, re, struct, subprocess, sys, time, tomllib

FOLDER, TOOLS = map(pathlib.Path, sys.argv[1:3])
TARGETS = {"aarch64": "aarch64-unknown-linux-musl", "armv7": "armv7-unknown-linux-musleabihf",
           "x86_64": "x86_64-unknown-linux-musl"}
# Those that were built.
PROGRAMS = [f"flashlag-{name}" for name in TARGETS if (FOLDER / f"flashlag-{name}").exists()]
LARGEST = 8_000_000
INTERPRETER, DYNAMIC, NEEDED = 3, 2, 1


def needs_nothing(program):
    """Whether an ELF program asks for no dynamic linker and no library."""
    bytes_ = program.read_bytes()
    wide = bytes_[4] == 2
    table = struct.unpack_from("<Q", bytes_, 32)[0] if wide else struct.unpack_from("<I", bytes_, 28)[0]
    size, count = struct.unpack_from("<HH", bytes_, 54 if wide else 42)
    for at in range(table, table + size * count, size):
        kind = struct.unpack_from("<I", bytes_, at)[0]
        if kind == INTERPRETER:
            return False
        if kind == DYNAMIC:
            start, length = (struct.unpack_from("<Q", bytes_, at + field)[0] for field in (8, 32)) if wide \
                else (struct.unpack_from("<I", bytes_, at + field)[0] for field in (4, 16))
            words = struct.iter_unpack("<QQ" if wide else "<II", bytes_[start:start + length])
            if any(tag == NEEDED for tag, _ in words):
                return False
    return True


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def tree(target, edges):
    """The crates of the program, and which uses which: what cargo builds, with the features it builds."""
    lines = printed(os.environ.get("CARGO", "cargo"), "tree", "--locked", "-p", "flashlag-cli", "--target", target,
                    "--no-default-features", "-e", edges, "--prefix", "depth", "--format", " {p}|{l}").splitlines()
    crates, uses, path = {}, {}, []
    for line in lines:
        depth, name, version, licence = re.match(r"(\d+) (\S+) v(\S+)[^|]*\|(.*?)(?: \(\*\))?$", line).groups()
        crate = (name, version)
        crates[crate] = licence
        uses.setdefault(crate, set())
        del path[int(depth):]
        if path:
            uses[path[-1]].add(crate)
        path.append(crate)
    return crates, uses


def reference(crate):
    """Both the package's address, where it has one, and its name within the list."""
    return f"pkg:cargo/{crate[0]}@{crate[1]}"


def crates():
    """The crates in the programs (required) and those that only the build uses (excluded)."""
    lock = tomllib.loads(pathlib.Path("Cargo.lock").read_text())["package"]
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    inside, licences, uses = set(), {}, {}
    for target in TARGETS.values():
        inside |= set(tree(target, "normal,no-proc-macro")[0])
        found, edges = tree(target, "normal,build")
        licences |= found
        for crate, used in edges.items():
            uses.setdefault(crate, set()).update(used)
    components = []
    for crate in sorted(licences):
        component = {"type": "library", "bom-ref": reference(crate), "name": crate[0], "version": crate[1],
                     "scope": "required" if crate in inside else "excluded"}
        # Flashlag's own crates are in no registry.
        if sums.get(crate):
            component["purl"] = reference(crate)
            component["hashes"] = [{"alg": "SHA-256", "content": sums[crate]}]
        if licences[crate]:
            component["licenses"] = [{"expression": licences[crate].replace("/", " OR ")}]
        components.append(component)
    edges = [{"ref": reference(crate), "dependsOn": sorted(map(reference, uses[crate]))} for crate in sorted(uses)]
    return components, edges


def beside_cargo():
    """What is in the programs and is no crate: SQLite, the C library, Rust's standard library."""
    metadata = json.loads(printed(os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--format-version", "1",
                                  "--filter-platform", TARGETS["aarch64"]))
    manifest = next(one["manifest_path"] for one in metadata["packages"] if one["name"] == "libsqlite3-sys")
    header = (pathlib.Path(manifest).parent / "sqlite3/sqlite3.h").read_text()
    sqlite = re.search(r'#define SQLITE_VERSION\s+"(.*)"', header).group(1)
    named = [("sqlite", sqlite, "blessing"), ("musl", None, "MIT"), ("rust-std", rustc(), "MIT OR Apache-2.0")]
    found = []
    for name, version, licence in named:
        component = {"type": "library", "bom-ref": name, "name": name, "scope": "required",
                     "licenses": [{"expression": licence}]}
        if version:
            component["version"] = version
        else:
            component["description"] = f"as in zig {zig()}"
        found.append(component)
    return found


def rustc():
    return printed("rustc", "--version").split()[1]


def zig():
    return printed(str(TOOLS / "bin/python"), "-m", "ziglang", "version")


def sha256(name):
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()


def tools():
    wrapper = printed(str(TOOLS / "bin/cargo-zigbuild"), "--version").split()[-1]
    versions = {"rustc": rustc(), "zig": zig(), "cargo-zigbuild": wrapper}
    return [{"type": "application", "name": name, "version": version} for name, version in versions.items()]


def bill():
    """The list: the programs with their sums, all that is in them, and what built them."""
    components, edges = crates()
    own = next(one for one in components if one["name"] == "flashlag-cli")
    components.remove(own)
    others = beside_cargo()
    for edge in edges:
        if edge["ref"] == own["bom-ref"]:
            edge["dependsOn"] = sorted(edge["dependsOn"] + [one["bom-ref"] for one in others])
    files = [{"type": "file", "name": name, "bom-ref": name, "hashes": [{"alg": "SHA-256", "content": sha256(name)}]}
             for name in PROGRAMS]
    # The time of the commit, not of the build.
    time_ = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time_),
            "tools": {"components": tools()},
            "component": {**own, "type": "application", "name": "flashlag", "components": files},
        },
        "components": components + others,
        "dependencies": edges,
    }


def main():
    for name in PROGRAMS:
        size = (FOLDER / name).stat().st_size
        print(f"dist: {name}: {size:,} bytes", file=sys.stderr)
        if size >= LARGEST:
            sys.exit(f"dist: {name} is not below {LARGEST:,} bytes")
        if not needs_nothing(FOLDER / name):
            sys.exit(f"dist: {name} asks for a dynamic linker or a library: it would not start on a phone")
    listed = "flashlag.cdx.json"
    (FOLDER / listed).write_text(json.dumps(bill(), indent=1) + "\n")
    lines = [f"{sha256(name)}  {name}\n" for name in [*PROGRAMS, listed]]
    (FOLDER / "SHA256SUMS").write_text("".join(lines))


main()
