#!/usr/bin/env python3
"""The lab's questions, each answered by runs: tables for docs/lab.md.

    scripts/lab.py FLASHLAG [--short] [--only NAME,...] [--write docs/lab.md]

Runs `FLASHLAG run ... --on lab:...` and the same on `sim:`, and puts the figures side by side. Run
files are kept in target/lab-runs, and used again where they are there: remove them to measure anew.
"""

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

import marks

# Filesystems of drives that are carried about, none of which can be mounted without barriers.
CARRIED = ["vfat", "exfat", "ntfs3"]
FILESYSTEMS = ["ext4", "f2fs", "btrfs", "xfs", "nilfs2", *CARRIED]
JOURNALS = ["delete", "truncate", "persist", "wal"]
# What SQLite does by default, and what it does best.
TWO = ["delete", "wal"]
MODELLED = ["ext4", "f2fs", "btrfs"]
# Filesystems of phones.
PHONES = ["ext4", "f2fs"]
# Filesystems on which each journal mode has a run of its own: the log of Btrfs grows with each sync until
# the transaction is committed, after 30 s, and so does what a save writes.
APART = ["btrfs"]
DEVICE = "nexus5-2013"
# Cells of a model within this are called alike.
ALIKE = 0.10
KEPT = Path("target/lab-runs")


def run(flashlag, target, settings, seed=1):
    """The phases of a run of `sqlite` by name."""
    journals = settings["journal"].split(",")
    if target.split("+")[1].split(",")[0] in APART and len(journals) > 1:
        runs = [run(flashlag, target, {**settings, "journal": one}, seed) for one in journals]
        return None if None in runs else {name: phase for each in runs for name, phase in each.items()}
    stored = made(flashlag, "sqlite", target, settings, seed)
    return stored and {phase["name"]: phase for phase in stored["phases"]}


def made(flashlag, scenario, target, settings, seed=1, leave=None):
    """A run, made unless it was made before; None where it could not be."""
    words = [f"{key}={value}" for key, value in sorted(settings.items())]
    named = [] if scenario == "sqlite" else [Path(scenario).stem]
    named += [target, *words, *filter(None, [leave]), str(seed)]
    name = "".join(c if c.isalnum() else "-" for c in " ".join(named))
    output = KEPT / f"{name}.json"
    if not output.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        command = [flashlag, "run", scenario, "--on", target, "--seed", str(seed)]
        for word in words:
            command += ["--set", word]
        command += ["--leave", leave] if leave else []
        partial = output.with_suffix(".partial.json")
        print(" ".join([scenario, target, *words]), file=sys.stderr, flush=True)
        done = subprocess.run(
            ["timeout", "-s", "KILL", "2400", *command, "-o", str(partial), "--force"],
            capture_output=True, text=True, check=False,
        )
        # 3: it ran, but a trust check failed, which the run file says.
        if done.returncode not in (0, 3):
            print(done.stderr.strip(), file=sys.stderr)
            return None
        partial.rename(output)
    return json.loads(output.read_text())


def costs(phase):
    """Writes, KiB and flushes of a save."""
    ledger, ops = phase["ledger"], phase["ops"]
    return (
        ledger["block_writes"] / ops,
        ledger["block_bytes"] / 1024 / ops,
        ledger["flushes"] / ops,
    )


def milliseconds(summary, key="p50"):
    value = summary.get(key)
    return "-" if value is None else f"{value / 1e6:.2f}"


def inserts(options, saves, time, journals):
    """What is set for inserts in these journal modes."""
    return {
        "statement": "insert",
        "synchronous": "full",
        "journal": ",".join(journals),
        "saves": 50 if options.short else saves,
        "time": time,
    }


def beside(flashlag, profile, settings):
    """Each filesystem: its name, its phases in a real kernel on that device (None where it could not
    be run), and the model's where it is modelled. The model is on a device that takes some time
    always: times of files move in ticks, and without any time no tick passes between two saves."""
    for filesystem in FILESYSTEMS:
        real = run(flashlag, f"lab:{profile}+{filesystem}", settings)
        modelled = real is not None and filesystem in MODELLED
        model = run(flashlag, f"sim:{DEVICE}+{filesystem}", settings) if modelled else None
        yield filesystem, real, model


def commits(flashlag, options):
    """The nested-journaling matrix, on a device that takes no time."""
    settings = inserts(options, 200, "120s", TWO if options.short else JOURNALS)
    lines = [
        "| | journal | writes | KiB | flushes | data | log | metadata | modelled: writes | KiB | flushes |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    off = []
    for filesystem, real, model in beside(flashlag, "zero", settings):
        if real is None:
            lines.append(f"| {filesystem} | could not be run here |" + " |" * 9)
            continue
        for name, phase in real.items():
            seen = costs(phase)
            journal = name.split("_")[1].upper()
            kinds = phase["ledger"].get("kinds")
            cells = [f"{seen[0]:.2f}", f"{seen[1]:.1f}", f"{seen[2]:.2f}"]
            for kind in ("data", "journal", "metadata"):
                each = kinds and f"{kinds[kind]['bytes'] / 1024 / phase['ops']:.1f}"
                cells.append(each or "-")
            if model and name in model:
                for said, there, digits in zip(costs(model[name]), seen, (2, 1, 2)):
                    cell = f"{said:.{digits}f}"
                    if abs(said - there) > ALIKE * there:
                        cell = f"**{cell}**"
                        off.append(f"{filesystem} {journal}: {said:.2f} for {there:.2f}")
                    cells.append(cell)
            else:
                cells += ["-"] * 3
            lines.append(f"| {filesystem} | {journal} | " + " | ".join(cells) + " |")
    lines += ["", f"Cells of the model that are off by more than {ALIKE:.0%}: {len(off)}."]
    return lines


# Mounts whose counts `crates/runner/tests/it/data/lab_options.csv` holds the model to.
MOUNTS = {
    "ext4": ["", "nobarrier", "discard", "encrypt", "fast_commit"],
    "f2fs": ["", "nobarrier", "fsync_mode=nobarrier", "fsync_mode=strict", "nodiscard", "encrypt",
             "background_gc=off", "checkpoint_merge", "atomic", "atomic,fsync_mode=nobarrier"],
    "btrfs": ["", "nobarrier", "discard", "nodatacow", "encrypt"],
}
# F2FS on zones, which a device of no time has not.
ZONED = "zufs40-phone+f2fs,size=8GiB"


def mounted(short):
    """The name of each mount, and its targets in a real kernel and in the model."""
    for filesystem, switched in MOUNTS.items():
        for switch in switched[:2] if short else switched:
            stack = ",".join(filter(None, [filesystem, switch]))
            yield stack, f"zero+{stack}", f"{DEVICE}+{stack}"
    yield "f2fs on zones", ZONED, ZONED


def mounts(flashlag, options):
    """What a commit costs on each mount in each journal mode, on a device that takes no time, real and
    modelled."""
    settings = inserts(options, 300, "120s", TWO if options.short else JOURNALS)
    lines = [
        "| mount | journal | writes | KiB | flushes | modelled: writes | KiB | flushes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    off = 0
    for stack, on_kernel, on_model in mounted(options.short):
        real = run(flashlag, f"lab:{on_kernel}", settings)
        if real is None:
            continue
        model = run(flashlag, f"sim:{on_model}", settings) or {}
        for name, phase in real.items():
            seen = costs(phase)
            cells = [f"{seen[0]:.2f}", f"{seen[1]:.1f}", f"{seen[2]:.2f}"]
            for said, there, digits in zip(costs(model[name]), seen, (2, 1, 2)):
                cell = f"{said:.{digits}f}"
                if abs(said - there) > ALIKE * there + 0.05:
                    cell, off = f"**{cell}**", off + 1
                cells.append(cell)
            lines.append(f"| {stack} | {name.split('_')[1].upper()} | " + " | ".join(cells) + " |")
    lines += ["", f"Cells of the model that are off by more than {ALIKE:.0%}: {off}."]
    return lines


def speeds(flashlag, options):
    """Saves a second on a phone's flash, real and modelled."""
    settings = inserts(options, 300, "30s", TWO if options.short else JOURNALS)
    lines = [
        f"| | journal | saves/s on lab:{DEVICE} | p50 ms | software alone, p50 ms | flash, KiB a save "
        f"| write amplification | saves/s on sim:{DEVICE} | p50 ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for filesystem, real, model in beside(flashlag, DEVICE, settings):
        if real is None:
            lines.append(f"| {filesystem} | could not be run here |" + " |" * 7)
            continue
        for name, phase in real.items():
            ledger = phase["ledger"]
            flash = ledger["device_bytes"]
            app = ledger["app_bytes"]
            has_flash = isinstance(flash, int)
            floor = phase.get("floor")
            cells = [
                f"{phase['ops_per_sec']:.0f}",
                milliseconds(phase["latency_ns"]),
                milliseconds(floor["latency_ns"]) if floor else "-",
                f"{flash / 1024 / phase['ops']:.0f}" if has_flash else "-",
                f"{flash / app:.0f}" if has_flash and app else "-",
            ]
            if model and name in model:
                said = model[name]
                cells += [f"{said['ops_per_sec']:.0f}", milliseconds(said["latency_ns"])]
            else:
                cells += ["-", "-"]
            lines.append(f"| {filesystem} | {name.split('_')[1].upper()} | " + " | ".join(cells) + " |")
    return lines


def switches(flashlag, options):
    """What encryption, barriers, discard and what lies above a filesystem cost on the same device, real
    and modelled."""
    settings = inserts(options, 300, "30s", TWO)
    cases = {
        "ext4": ["", "nobarrier", "discard", "encrypt", "encrypt=adiantum", "fast_commit", "data=journal",
                 "fuse", "overlay", "bind"],
        "f2fs": ["", "nobarrier", "fsync_mode=nobarrier", "nodiscard", "encrypt", "fuse"],
    }
    lines = [
        f"| on {DEVICE} | journal | saves/s | p50 ms | flushes a save | KiB a save | "
        "software alone, p50 ms | modelled: saves/s | flushes | KiB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for filesystem, switched in cases.items():
        for switch in switched[:2] if options.short else switched:
            stack = ",".join(filter(None, [filesystem, switch]))
            real = run(flashlag, f"lab:{DEVICE}+{stack}", settings)
            if real is None:
                continue
            modelled = switch in ("", "nobarrier", "discard", "nodiscard", "encrypt", "fuse")
            model = run(flashlag, f"sim:{DEVICE}+{stack}", settings) if modelled else None
            for name, phase in real.items():
                _, kib, flushes = costs(phase)
                floor = phase.get("floor")
                cells = [
                    f"{phase['ops_per_sec']:.0f}",
                    milliseconds(phase["latency_ns"]),
                    f"{flushes:.2f}",
                    f"{kib:.1f}",
                    milliseconds(floor["latency_ns"]) if floor else "-",
                ]
                if model and name in model:
                    _, kib, flushes = costs(model[name])
                    cells += [f"{model[name]['ops_per_sec']:.0f}", f"{flushes:.2f}", f"{kib:.1f}"]
                else:
                    cells += ["-"] * 3
                lines.append(f"| {stack} | {name.split('_')[1].upper()} | " + " | ".join(cells) + " |")
    return lines


def buffered(volatile):
    """A profile as DEVICE's, with a write buffer of 1 MiB, as a file: one that a power cut empties, or
    one behind a battery."""
    text = Path(f"profiles/{DEVICE}.toml").read_text()
    name = "buffer" if volatile else "battery"
    text = text.replace(f'name = "{DEVICE}"', f'name = "{DEVICE}-{name}"', 1)
    text += f"""
[buffer]
size = {{ value = "1MiB", source = "chosen: much larger than a save" }}
volatile = {{ value = {str(volatile).lower()}, source = "chosen: the question" }}
"""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{name}.toml"
    path.write_text(text)
    return str(path)


def host(flashlag, options):
    """Saves on the host's own kernel, where root may mount: no instruction is translated."""
    settings = inserts(options, 1000, "30s", TWO)
    lines = [
        f"| on {DEVICE}, host | journal | saves/s | p50 ms | software alone, p50 ms | flushes a save "
        "| KiB a save | modelled: saves/s | p50 ms | flushes | KiB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for stack in ("ext4", "xfs", "btrfs", "ext4,fuse", "ext4,overlay", "ext4,bind"):
        real = run(flashlag, f"lab:{DEVICE}+{stack},host", settings)
        if real is None:
            lines.append(f"| {stack} | could not be run here |" + " |" * 9)
            continue
        modelled = stack in ("ext4", "btrfs", "ext4,fuse")
        model = run(flashlag, f"sim:{DEVICE}+{stack}", settings) if modelled else {}
        for name, phase in real.items():
            floor = phase.get("floor")
            _, kib, flushes = costs(phase)
            cells = [
                f"{phase['ops_per_sec']:.0f}",
                milliseconds(phase["latency_ns"]),
                milliseconds(floor["latency_ns"]) if floor else "-",
                f"{flushes:.2f}",
                f"{kib:.1f}",
            ]
            said = model.get(name)
            if said:
                _, kib, flushes = costs(said)
                cells += [f"{said['ops_per_sec']:.0f}", milliseconds(said["latency_ns"])]
                cells += [f"{flushes:.2f}", f"{kib:.1f}"]
            else:
                cells += ["-"] * 4
            lines.append(f"| {stack} | {name.split('_')[1].upper()} | " + " | ".join(cells) + " |")
    return lines


# Device, its filesystem in a model and in a real kernel, what a fill spares; as the profile's own
# check has it.
REVIEWED = [("nexus7-2012", "ext4", "ext4,host", "20MB"), ("moto-x-2013", "f2fs", "f2fs", "70MB")]
# The same for the reviewers' whole protocols, and what is set where they would take hours: two
# minutes of random writes a row, and a second in the place of a day's idle wait.
PROTOCOLS = [
    ("nexus7-2012", "ext4", "ext4,host", "20MB", {"time": "2m", "idle": "1s"}),
    ("moto-x-2013", "f2fs,nodiscard", "f2fs,nodiscard", "70MB", {"time": "2m"}),
]
# A device that is full in seconds.
SMALL = ("moto-x-2013", "f2fs", "f2fs", "24MB")
TESTS = {
    "rand_write_4k": "4K random writes, durable",
    "seq_write_256k": "256K writes",
    "rand_read_4k": "4K random reads",
    "seq_read_256k": "256K reads",
}
# What the published rows call what `lifecycle` calls otherwise.
PUBLISHED = {
    ("new", 1): "new",
    **{("filled", run): f"filled-run-{run}" for run in range(1, 6)},
    **{("deleted", run): f"after-delete-run-{run}" for run in (1, 2, 3)},
    ("trimmed", 1): "after-24h-idle-with-fstrim",
    ("idle", 1): "after-24h-idle-with-fstrim",
}


def published():
    """Published MB/s by device, condition and test."""
    with Path("profiles/published.csv").open() as file:
        return {
            (row["device"], row["condition"], row["workload"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["metric"] == "throughput" and row["unit"] == "MB/s"
        }


def rate(phase):
    """MB/s, as reviewers print them."""
    if phase is None:
        return "-"
    value = phase["bytes_per_sec"] / 1e6
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def lifecycle(flashlag, options):
    """The reviewers' table on a real filesystem, beside what was published and what is modelled."""
    settings = {"durable": "fsync", "limit": "100MB"}
    size, devices = "", REVIEWED
    if options.short:
        size, devices = ",size=512MiB", [SMALL]
        settings = {"durable": "fsync", "limit": "4MB", "span": "16MB", "time": "1s"}
    known = {} if size else published()
    lines = []
    for device, modelled, real, leave in devices:
        stacks = (f"{device}+{modelled}{size}", f"{device}+{real}{size}")
        lines += reviewed(flashlag, "lifecycle", stacks, settings, leave, known)
    return lines


def protocols(flashlag, options):
    """The same by the reviewers' own protocols."""
    lines = []
    for device, modelled, real, leave, settings in [] if options.short else PROTOCOLS:
        stacks = (f"{device}+{modelled}", f"{device}+{real}")
        scenario = f"profiles/protocols/{device}.toml"
        lines += reviewed(flashlag, scenario, stacks, settings, leave, published())
    return lines


def reviewed(flashlag, scenario, stacks, settings, leave, known):
    """One device's table, modelled and in a real kernel, where fills take a hundredth of their time."""
    modelled, real = stacks
    lab = made(flashlag, scenario, f"lab:{real},fill-time-scale=100", settings, leave=leave)
    if lab is None:
        return [f"{real} could not be run here.", ""]
    sim = made(flashlag, scenario, f"sim:{modelled}", settings, leave=leave)
    return lifecycle_of(real.split("+")[0], real, known, sim, lab)


def lifecycle_of(device, stack, known, sim, lab):
    """One device's table: MB/s of each test in each state, published, modelled and real."""
    by_stage = [
        {(phase["state"], phase["run"], phase["name"]): phase for phase in stored["phases"]}
        for stored in (sim, lab)
    ]
    head = "".join(f" {title}: published | sim | lab |" for title in TESTS.values())
    lines = [f"| {stack}, MB/s |{head}", "|---" * (1 + 3 * len(TESTS)) + "|"]
    stages = []
    for phase in lab["phases"]:
        stage = (phase["state"], phase["run"])
        if phase["name"] in TESTS and stage not in stages:
            stages.append(stage)
    for state, number in stages:
        cells = []
        for test in TESTS:
            published = known.get((device, PUBLISHED.get((state, number)), test))
            cells.append("-" if published is None else f"{published:g}")
            cells += [rate(stored.get((state, number, test))) for stored in by_stage]
        lines.append(f"| {state} {number} | " + " | ".join(cells) + " |")
    cells = []
    for test in TESTS:
        floor = by_stage[1].get(("new", 1, test), {}).get("floor")
        mean = floor and floor["latency_ns"]["mean"]
        block = by_stage[1][("new", 1, test)]["block_bytes"]
        cells += ["-", "-", f"{block / mean * 1e3:.1f}" if mean else "-"]
    lines.append("| software alone | " + " | ".join(cells) + " |")
    return lines + [""]


# What the host's kernel can mount.
HOSTED = ["ext4"]
# Saves due a second, MiB a second beside them, how long: long enough for a hundredth of them. The
# last two are more than the device can do; the last is `quick`'s.
BUSY = [("10", "4", "100s"), ("10", "8", "100s"), ("10", "35", "20s"), ("100", "35", "20s")]


def busy(flashlag, options):
    """Saves on a schedule, alone and beside a writer: how long they wait for one another."""
    lines = [
        "| | saves due/s | MiB/s beside, asked | done | on | saves/s | begun late | over 100 ms "
        "| response p50 ms | p90 | p99 | service p50 ms | software alone, mean ms |",
        "|---" * 13 + "|",
    ]
    for filesystem in PHONES[:1] if options.short else PHONES:
        for due, stream, time in BUSY[1:2] if options.short else BUSY:
            settings = {"rate": due, "stream": stream, "time": "3s" if options.short else time}
            # The host's own kernel where it can: its software is a small part of what is waited for.
            host = ",host" if filesystem in HOSTED else ""
            for kind, where in (("lab", host), ("sim", "")):
                target = f"{kind}:{DEVICE}+{filesystem}{where}"
                stored = made(flashlag, "scripts/busy.toml", target, settings)
                if stored is None:
                    continue
                for phase in stored["phases"]:
                    lines.append(busy_row(filesystem, due, stream, kind + where, phase))
    return lines


def share(part, whole):
    return f"{min(part / whole, 1):.0%}" if whole else "-"


def busy_row(filesystem, due, stream, kind, phase):
    beside = phase["name"] == "save_busy"
    moved = [note for note in phase.get("notes", []) if note.startswith("the background moved")]
    response, floor = phase.get("response_ns") or {}, phase.get("floor")
    cells = [
        filesystem, due, stream if beside else "-",
        moved[0].rsplit(" at ", 1)[1].split(";")[0] if moved else "-",
        kind, f"{phase['ops_per_sec']:.1f}",
        share(phase["missed_slots"], float(due) * phase["elapsed_ns"] / 1e9),
        share(phase["lag"]["over_100ms"], phase["lag"]["saves"]),
        *(milliseconds(response, key) for key in ("p50", "p90", "p99")),
        milliseconds(phase["latency_ns"]),
        # Of the few that a moment on a schedule has.
        milliseconds(floor["latency_ns"], "mean") if floor else "-",
    ]
    return "| " + " | ".join(cells) + " |"


def barriers_of(filesystem):
    """With barriers, and without where that can be had."""
    return [""] if filesystem in CARRIED else ["", ",nobarrier"]


def power_cuts(options, filesystem, profile=DEVICE):
    """How many a row has."""
    if options.short:
        return 20
    few = filesystem in CARRIED or profile != DEVICE
    return max(options.cuts // 5, 20) if few else options.cuts


def repaired(lost, *keys):
    """Cells of what a repair brought back: whole of those that hurt, and these figures."""
    repair = lost.get("repair", {})
    if "hurt" not in repair:
        return ["-"] * (1 + len(keys))
    return [f"{repair['whole']} of {repair['hurt']}", *(str(repair[key]) for key in keys)]


def repairs_in_all(rows):
    """The line below a table: the tools, how often they refused, and what they did to whole images."""
    repairs = [(lost, lost["repair"]) for lost in rows if "hurt" in lost.get("repair", {})]
    tools = sorted({repair["command"] for _, repair in repairs})
    whole = sum(lost["cuts"] - repair["hurt"] for lost, repair in repairs)
    refused, harmed = (sum(repair[key] for _, repair in repairs) for key in ("refused", "harmed"))
    return ["", f"Repairs by {', '.join(tools) or 'no tool'}; refused: {refused}. Images that were whole before "
                f"a repair: {whole}; after it no more: {harmed}."]


def cuts(flashlag, options):
    """What a power cut takes: with barriers and without, by device, filesystem and journal mode."""
    lines = [
        "| device | | journal | synchronous | cuts | saves acknowledged | cuts that lost any | saves lost "
        "| at most in one | databases damaged | mounts failed | whole after a repair | mounts failed after it |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    devices = {
        DEVICE: DEVICE,
        "with a volatile buffer of 1 MiB": buffered(True),
        "with that behind a battery": buffered(False),
    }
    modes = [("delete", "full"), ("wal", "full")]
    for device, profile in devices.items():
        for filesystem in PHONES + CARRIED:
            switches = barriers_of(filesystem)
            if filesystem == "f2fs" and profile == DEVICE:
                switches.append(",fsync_mode=nobarrier")
            if filesystem == "f2fs":
                switches += [",atomic", ",atomic,fsync_mode=nobarrier"]
            for switch in switches:
                # The deletion that commits is made durable where it is asked for.
                extra = [("delete", "extra")] if not switch and profile == DEVICE else []
                # An atomic write takes the place of a rollback journal, as Android commits; a log has none.
                atomic = [("truncate", "full")] if ",atomic" in switch else None
                for journal, synchronous in atomic or modes + extra:
                    count = power_cuts(options, filesystem, profile)
                    words = ["--journal", journal, "--synchronous", synchronous]
                    lost = cut(flashlag, f"{profile}+{filesystem}{switch}", words, count)
                    if lost is None:
                        continue
                    keys = ("cuts", "acknowledged", "with_loss", "lost", "most_lost", "damaged",
                            "unmountable")
                    cells = [device, filesystem + switch, journal.upper(), synchronous.upper()]
                    cells += [str(lost[key]) for key in keys]
                    cells += repaired(lost, "unmountable")
                    rows.append(lost)
                    lines.append("| " + " | ".join(cells) + " |")
    return lines + repairs_in_all(rows)


def cut(flashlag, stack, words, count):
    """What power cuts took, kept as runs are."""
    target = f"lab:{stack},size=512MiB"
    name = "".join(c if c.isalnum() else "-" for c in f"cuts {target} {' '.join(words[1::2])} {count}")
    output = KEPT / f"{name}.json"
    if not output.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        print(f"{target}  {' '.join(words)}", file=sys.stderr, flush=True)
        done = subprocess.run(
            ["timeout", "-s", "KILL", "3600", flashlag, "cuts", target, *words, "--cuts", str(count),
             "--saves", "100", "--json"],
            capture_output=True, text=True, check=False,
        )
        # 1: something was lost.
        if done.returncode not in (0, 1):
            print(done.stderr.strip(), file=sys.stderr)
            return None
        output.write_text(done.stdout)
    return json.loads(output.read_text())


# The kinds of saves without SQLite, in the words of `flashlag cuts --kind`.
FILE_KINDS = ["shared-preferences", "datastore", "atomic-file", "rename", "rename-synced", "append-log"]


def files(flashlag, options):
    """What a save without SQLite costs: a real kernel beside the model; cells that are off by more are bold."""
    lines = [
        "| | test of `prefs` | writes | KiB | flushes | modelled: writes | KiB | flushes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    settings = {"saves": "20" if options.short else "200", "time": "120s"}
    for filesystem in MODELLED:
        runs = [made(flashlag, "prefs", f"{kind}:{DEVICE}+{filesystem}", settings) for kind in ("lab", "sim")]
        if None in runs:
            continue
        real, model = ({phase["name"]: phase for phase in run["phases"]} for run in runs)
        for name, phase in real.items():
            measured, modelled = costs(phase), costs(model[name])
            cells = [f"{figure:.1f}" for figure in measured]
            for found, wanted in zip(modelled, measured):
                is_off = abs(found - wanted) > ALIKE * wanted
                cells.append(f"**{found:.1f}**" if is_off else f"{found:.1f}")
            lines.append(f"| {filesystem} | `{name}` | " + " | ".join(cells) + " |")
    return lines


def file_cuts(flashlag, options):
    """What a power cut leaves of a file that is saved without SQLite."""
    lines = [
        "| | kind | cuts | what was saved last | something older | saves lost at most | gone or empty | damaged "
        "| mounts failed | whole after a repair | in a file of lost clusters |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    for filesystem in PHONES + CARRIED:
        for switch in barriers_of(filesystem):
            for kind in FILE_KINDS:
                count = power_cuts(options, filesystem)
                lost = cut(flashlag, f"{DEVICE}+{filesystem}{switch}", ["--kind", kind], count)
                if lost is None:
                    continue
                failed = lost.get("unmountable")
                older = lost["with_loss"] - lost["empty"] - lost["damaged"] - (failed or 0)
                kept = lost["cuts"] - lost["with_loss"]
                cells = [filesystem + switch, f"`{kind}`", lost["cuts"], kept, older, lost["most_lost"],
                         lost["empty"], lost["damaged"], "-" if failed is None else failed,
                         *repaired(lost, "salvaged")]
                rows.append(lost)
                lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return lines + repairs_in_all(rows)


TABLES = {"commits": commits, "mounts": mounts, "speeds": speeds, "switches": switches, "host": host,
          "lifecycle": lifecycle, "protocols": protocols, "busy": busy, "cuts": cuts,
          "files": files, "file-cuts": file_cuts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("flashlag")
    parser.add_argument("--short", action="store_true", help="few saves, few cells: minutes")
    parser.add_argument("--only", help="of " + ", ".join(TABLES))
    parser.add_argument("--cuts", type=int, default=500, help="power cuts for each row; a fifth of it on devices with a buffer, and on filesystems of drives")
    parser.add_argument("--write", type=Path, help="the document that takes the tables")
    options = parser.parse_args()
    for name in options.only.split(",") if options.only else TABLES:
        if name not in TABLES:
            sys.exit(f"lab: there is no table {name}; there are {', '.join(TABLES)}")
        lines = TABLES[name](options.flashlag, options)
        print(f"\n{name}\n" + "\n".join(lines), flush=True)
        if options.write:
            marks.put(options.write, name, "\n".join(lines))


if __name__ == "__main__":
    main()
