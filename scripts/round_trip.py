#!/usr/bin/env python3
"""Round trip of fits: devices with hidden parameters run `lifecycle`, profiles are fitted to those
runs alone, and both forecast storage that is 90 % full. Hidden is what matters when full (spare
area, units, blocks, which block is collected and when, write buffer) and every time with a range.

    scripts/round_trip.py [COUNT] [PROFILE] [SIMULATIONS] [FIRST] [STARTS]
"""
import json, math, os, pathlib, random, re, subprocess, sys, tempfile, time

ARGUMENTS = sys.argv[1:] + ["20", "nexus7-2012", "300", "1", "1"][len(sys.argv) - 1:]
COUNT, BASE, SIMULATIONS, FIRST, STARTS = ARGUMENTS[:5]
HERE = pathlib.Path(__file__).resolve().parent
FLASHLAG = os.environ.get("FLASHLAG", HERE.parent / "target/release/flashlag")
SEEDS = "5"
UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
BUFFER = """
[buffer]
size = { value = "256KiB", range = ["64KiB", "2MiB"], source = "assumed: a write buffer, so that it can be hidden" }
volatile = { value = true, source = "assumed" }
"""
SPARE = ("16MiB", "128MiB")
CHOICES = {"pages_per_block": [64, 128], "policy": ["greedy", "d_choices", "cost_benefit", "fifo"],
           "hot_cold": [True, False], "size": ["64KiB", "256KiB", "1MiB"]}


def flashlag(*arguments):
    done = subprocess.run([FLASHLAG, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"flashlag {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def put(text, name, value):
    changed, count = re.subn(rf"^{name} = \{{ value = [^,]*,", f"{name} = {{ value = {json.dumps(value)},", text, flags=re.M)
    return changed if count else text


def small(text):
    """The same device with 1 GiB for its host, so that a lifetime takes a part of a second, and
    with what the hidden ones have: a range for its spare area, and a write buffer."""
    text = re.sub(r"^\[\[check\]\]\n(?:.+\n)*\n", "", text, flags=re.M)
    text = re.sub(r'^capacity = \{ value = "[^"]*", range = \[[^\]]*\]', 'capacity = { value = "1GiB"', text, flags=re.M)
    text = re.sub(r'^spare = \{ value = "[^"]*", range = \[[^\]]*\]', f'spare = {{ value = "48MiB", range = {json.dumps(SPARE)}', text, flags=re.M)
    return text if "\n[buffer]" in text else text.replace("\n[trim]", BUFFER + "\n[trim]")


def hidden(text, seed):
    """Another device: times by up to a third either way, the rest anywhere in its plausible range."""
    chance = random.Random(seed)

    def moved(match):
        name, value, unit, low, high = match.group(1, 2, 3, 4, 5)
        to_ns = lambda words: float(re.match(r"[\d.]+", words).group()) * UNITS[re.sub(r"[\d.]", "", words)]
        wanted = float(value) * UNITS[unit] * math.exp(chance.uniform(-0.3, 0.3))
        wanted = min(max(wanted, to_ns(low)), to_ns(high))
        return f'{name} = {{ value = "{wanted:.0f}ns", range = ["{low}", "{high}"]'

    pattern = r'^(\w+) = \{ value = "([\d.]+)(ns|us|ms|s)", range = \["([^"]*)", "([^"]*)"\]'
    text = re.sub(pattern, moved, text, flags=re.M)
    values = {name: chance.choice(all) for name, all in CHOICES.items()}
    values["spare"] = f"{math.exp(chance.uniform(math.log(16), math.log(128))):.0f}MiB"
    values["unit"] = chance.choice(["8KiB", "16KiB", "32KiB"])
    larger = ["16KiB", "32KiB", "64KiB"]
    values["program_unit"] = chance.choice([one for one in larger if int(one[:-3]) >= int(values["unit"][:-3])])
    values["low_water"], values["choices"] = chance.randint(2, 8), chance.randint(2, 16)
    for name, value in values.items():
        text = put(text, name, value)
    return text, values


def forecast(profile):
    """p50 and p99 of durable writes in nanoseconds, new and 90 % full: the mean of as many seeds on
    both sides, each with 10,000 writes or ten minutes of them, since a percentile of few is chance."""
    rows = []
    for line in flashlag("predict", profile, "--change", "full=90%", "--seeds", SEEDS).splitlines():
        if line.startswith(("as it is", "full=90% ")):
            numbers = re.findall(r"([\d.]+) (ns|µs|ms|s)\b", line)
            rows.append([float(number) * UNITS[unit] for number, unit in numbers[:2]])
    return rows


def one(home, base_text, seed):
    text, values = hidden(base_text, seed)
    (home / "hidden.toml").write_text(text)
    run = home / "run.json"
    flashlag("run", "lifecycle", "--on", f"sim:{home}/hidden.toml", "--leave", "50MB", "-o", run)
    began = time.monotonic()
    told = flashlag("fit", run, "--from", home / "base.toml", "-o", home / "fitted.toml",
                    "--simulations", SIMULATIONS, "--starts", STARTS)
    took = time.monotonic() - began
    (new, true), (_, found) = forecast(home / "hidden.toml"), forecast(home / "fitted.toml")
    (_, unfitted) = forecast(home / "base.toml")
    alike = re.findall(r"^- (\S+ and \S+) \(their effects", told, flags=re.M)
    return values, new, true, found, unfitted, alike, took, told


def main():
    base_text = small(flashlag("profiles", "show", BASE))
    within, shows, worst, spent, untold = 0, 0, 0.0, 0.0, {}
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        (home / "base.toml").write_text(base_text)
        for seed in range(int(FIRST), int(FIRST) + int(COUNT)):
            values, new, true, found, unfitted, alike, took, told = one(home, base_text, seed)
            off = [f / t - 1 for t, f in zip(true, found)]
            without = [f / t - 1 for t, f in zip(true, unfitted)]
            slower = [t / n for t, n in zip(true, new)]
            within += all(abs(error) <= 0.15 for error in off)
            shows += max(slower) >= 1.5
            worst, spent = max(worst, *map(abs, off)), spent + took
            for pair in alike:
                untold[pair] = untold.get(pair, 0) + 1
            misfit = re.search(r"off by (.*?) typically", " ".join(told.split())).group(1)
            print(f"set {seed:2}: p50 {true[0] / 1e6:.3g} ms, {slower[0]:.2f} x new, fitted {off[0]:+.1%}; "
                  f"p99 {true[1] / 1e6:.3g} ms, {slower[1]:.2f} x new, fitted {off[1]:+.1%} "
                  f"(unfitted {without[0]:+.0%}, {without[1]:+.0%}); figures of the run off by {misfit}; {took:.0f} s; "
                  + " ".join(f"{name}={value}" for name, value in sorted(values.items())), flush=True)
    print(f"{within} of {COUNT} within 15 %, the worst off by {worst:.1%}; at 90 % full {shows} are slower by half "
          f"or more; {spent:.0f} s in fits")
    for pair, count in sorted(untold.items(), key=lambda item: -item[1])[:10]:
        print(f"not told apart in {count}: {pair}")


if __name__ == "__main__":
    main()
