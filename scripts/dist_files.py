#!/usr/bin/env python3
"""Checks the programs that scripts/dist has built, and writes what goes with them: the list of what is in
them (CycloneDX) and the SHA-256 sums of all. Their bytes depend on the sources and tools alone.

    dist_files.py FOLDER TOOLS             the programs for phones
    dist_files.py FOLDER TOOLS --release   every file of a release
    dist_files.py --static PROGRAM         whether it needs nothing of the system, and its size
"""
import functools, hashlib, json, os, pathlib, re, struct, subprocess, sys, time, tomllib

TARGETS = {"aarch64": "aarch64-unknown-linux-musl", "armv7": "armv7-unknown-linux-musleabihf",
           "x86_64": "x86_64-unknown-linux-musl"}
PHONES = ["-p", "flashlag-cli", "--no-default-features"]
# The program with every default feature, and the plugin.
RELEASE = ["-p", "flashlag-cli", "-p", "flashlag-nbd"]
LARGEST, LARGEST_STATIC = 8_000_000, 11_000_000
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


def tree(packages, target, edges):
    """The crates of the program, and which uses which: what cargo builds, with the features it builds."""
    lines = printed(os.environ.get("CARGO", "cargo"), "tree", "--locked", *packages, "--target", target,
                    "-e", edges, "--prefix", "depth", "--format", " {p}|{l}").splitlines()
    crates, uses, path = {}, {}, []
    for line in filter(None, lines):
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


def inside(packages):
    """The crates of which code is in the programs, with their licences."""
    return functools.reduce(dict.__or__, (tree(packages, target, "normal,no-proc-macro")[0] for target in TARGETS.values()))


def crates(packages):
    """The crates in the programs (required) and those that only the build uses (excluded)."""
    lock = tomllib.loads(pathlib.Path("Cargo.lock").read_text())["package"]
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    required, licences, uses = inside(packages), {}, {}
    for target in TARGETS.values():
        found, edges = tree(packages, target, "normal,build")
        licences |= found
        for crate, used in edges.items():
            uses.setdefault(crate, set()).update(used)
    components = []
    for crate in sorted(licences):
        component = {"type": "library", "bom-ref": reference(crate), "name": crate[0], "version": crate[1],
                     "scope": "required" if crate in required else "excluded"}
        # Flashlag's own crates are in no registry.
        if sums.get(crate):
            component["purl"] = reference(crate)
            component["hashes"] = [{"alg": "SHA-256", "content": sums[crate]}]
        if licences[crate]:
            component["licenses"] = [{"expression": licences[crate].replace("/", " OR ")}]
        components.append(component)
    edges = [{"ref": reference(crate), "dependsOn": sorted(map(reference, uses[crate]))} for crate in sorted(uses)]
    return components, edges


def beside_cargo(tools):
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
            component["description"] = f"as in zig {zig(tools)}"
        found.append(component)
    return found


def rustc():
    return printed("rustc", "--version").split()[1]


def zig(tools):
    return printed(str(tools / "bin/python"), "-m", "ziglang", "version")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def used(tools):
    wrapper = printed(str(tools / "bin/cargo-zigbuild"), "--version").split()[-1]
    versions = {"rustc": rustc(), "zig": zig(tools), "cargo-zigbuild": wrapper}
    return [{"type": "application", "name": name, "version": version} for name, version in versions.items()]


def bill(files, packages, tools):
    """The list: the programs with their sums, all that is in them, and what built them."""
    components, edges = crates(packages)
    own = next(one for one in components if one["name"] == "flashlag-cli")
    components.remove(own)
    others = beside_cargo(tools)
    for edge in edges:
        if edge["ref"] == own["bom-ref"]:
            edge["dependsOn"] = sorted(edge["dependsOn"] + [one["bom-ref"] for one in others])
    files = [{"type": "file", "name": file.name, "bom-ref": file.name,
              "hashes": [{"alg": "SHA-256", "content": sha256(file)}]} for file in files]
    # The time of the commit, not of the build.
    time_ = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time_),
            "tools": {"components": used(tools)},
            "component": {**own, "type": "application", "name": "flashlag", "components": files},
        },
        "components": components + others,
        "dependencies": edges,
    }


def check_static(program, largest):
    size = program.stat().st_size
    print(f"dist: {program.name}: {size:,} bytes", file=sys.stderr)
    if size >= largest:
        sys.exit(f"dist: {program} is not below {largest:,} bytes")
    if not needs_nothing(program):
        sys.exit(f"dist: {program} asks for a dynamic linker or a library: it would not start everywhere")


def main():
    if sys.argv[1] == "--static":
        return check_static(pathlib.Path(sys.argv[2]), LARGEST_STATIC)
    folder, tools = map(pathlib.Path, sys.argv[1:3])
    listed, sums = folder / "flashlag.cdx.json", folder / "SHA256SUMS"
    if sys.argv[3:] == ["--release"]:
        files, packages = sorted(set(folder.iterdir()) - {listed, sums}), RELEASE
    else:
        # Those that were built.
        files, packages = [folder / f"flashlag-{name}" for name in TARGETS], PHONES
        files = [file for file in files if file.exists()]
        for file in files:
            check_static(file, LARGEST)
    listed.write_text(json.dumps(bill(files, packages, tools), indent=1) + "\n")
    sums.write_text("".join(f"{sha256(file)}  {file.name}\n" for file in [*files, listed]))


if __name__ == "__main__":
    main()
