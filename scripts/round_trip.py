#!/usr/bin/env python3
"""Round trip of fits: devices with hidden parameters run `lifecycle`, profiles are fitted to those
runs alone, and both forecast storage that is 90 % full. Hidden is what matters when full (spare
area, units, blocks, which block is collected and when, write buffer) and every time with a range;
with --times the times alone.
"""
import argparse, json, math, os, pathlib, random, re, subprocess, tempfile, time

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("--count", type=int, default=20, help="number of hidden sets")
PARSER.add_argument("--first", type=int, default=1, help="the first of them")
PARSER.add_argument("--profile", default="nexus7-2012", help="the profile that they are made of")
PARSER.add_argument("--simulations", default="3000", help="the most simulations of a fit")
PARSER.add_argument("--starts", default="3", help="the starts of a fit")
PARSER.add_argument("--times", action="store_true", help="hide times alone")
PARSER.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of `lifecycle`")
PARSER.add_argument("--keep", type=pathlib.Path, help="a directory for what is made on the way")
ARGUMENTS = PARSER.parse_args()
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


def hidden(text, seed, times):
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
    if times:
        return text, {}
    values = {name: chance.choice(all) for name, all in CHOICES.items()}
    values["spare"] = f"{math.exp(chance.uniform(math.log(16), math.log(128))):.0f}MiB"
    values["unit"] = chance.choice(["8KiB", "16KiB", "32KiB"])
    larger = ["16KiB", "32KiB", "64KiB"]
    values["program_unit"] = chance.choice([one for one in larger if int(one[:-3]) >= int(values["unit"][:-3])])
    values["low_water"], values["choices"] = chance.randint(2, 8), chance.randint(2, 16)
    for name, value in values.items():
        text = put(text, name, value)
    return text, values


def middle(cell):
    """Nanoseconds of `3.4 ms`; the geometric middle of a range, `271–776 ms`."""
    numbers, unit = re.fullmatch(r"([\d.–]+) (ns|µs|ms|s)", cell).groups()
    ends = [float(number) * UNITS[unit] for number in numbers.split("–")]
    return math.sqrt(ends[0] * ends[-1])


def forecast(profile):
    """p50 and p99 of durable writes in nanoseconds, new and 90 % full: the mean of as many seeds on
    both sides, each with 10,000 writes or ten minutes of them, since a percentile of few is chance."""
    lines = flashlag("predict", profile, "--change", "full=90%", "--seeds", SEEDS).splitlines()
    tests = lines[lines.index("All tests, before and after:"):]
    row = next(line for line in tests if line.startswith("4K rand write"))
    _, p50, p50_full, p99, p99_full, *_ = re.split(r"\s{2,}", row)
    return [middle(p50), middle(p99)], [middle(p50_full), middle(p99_full)]


def one(home, base_text, seed):
    text, values = hidden(base_text, seed, ARGUMENTS.times)
    (home / f"hidden-{seed}.toml").write_text(text)
    run = home / f"run-{seed}.json"
    settings = [word for one in ARGUMENTS.set for word in ("--set", one)]
    flashlag("run", "lifecycle", "--on", f"sim:{home}/hidden-{seed}.toml", "--leave", "50MB", "-o", run, "--force",
             *settings)
    began = time.monotonic()
    report = flashlag("fit", run, "--from", home / "base.toml", "-o", home / f"fitted-{seed}.toml", "--force",
                    "--simulations", ARGUMENTS.simulations, "--starts", ARGUMENTS.starts)
    took = time.monotonic() - began
    (home / f"fitted-{seed}.txt").write_text(report)
    (new, true), (_, found) = forecast(home / f"hidden-{seed}.toml"), forecast(home / f"fitted-{seed}.toml")
    alike = re.findall(r"^- (\S+ and \S+) \(their effects", report, flags=re.M)
    return values, new, true, found, alike, took, report


def fitted_values(home, seed, names):
    """What was found of what was hidden."""
    text = (home / f"fitted-{seed}.toml").read_text()
    found = {name: re.findall(rf"^{name} = \{{ value = ([^,}}]*)", text, flags=re.M) for name in names}
    return {name: values[-1].strip().strip('"') for name, values in found.items() if values}


def main():
    base_text = small(flashlag("profiles", "show", ARGUMENTS.profile))
    within, shows, worst, spent, unreport = 0, 0, 0.0, 0.0, {}
    with tempfile.TemporaryDirectory() as made:
        home = ARGUMENTS.keep or pathlib.Path(made)
        home.mkdir(parents=True, exist_ok=True)
        (home / "base.toml").write_text(base_text)
        (_, unfitted) = forecast(home / "base.toml")
        for seed in range(ARGUMENTS.first, ARGUMENTS.first + ARGUMENTS.count):
            values, new, true, found, alike, took, report = one(home, base_text, seed)
            looks = fitted_values(home, seed, values)
            off = [f / t - 1 for t, f in zip(true, found)]
            without = [f / t - 1 for t, f in zip(true, unfitted)]
            slower = [t / n for t, n in zip(true, new)]
            within += all(abs(error) <= 0.15 for error in off)
            shows += max(slower) >= 1.5
            worst, spent = max(worst, *map(abs, off)), spent + took
            for pair in alike:
                unreport[pair] = unreport.get(pair, 0) + 1
            misfit = re.search(r"off by (.*?) typically", " ".join(report.split())).group(1)
            print(f"set {seed:2}: p50 {true[0] / 1e6:.3g} ms, {slower[0]:.2f} x new, fitted {off[0]:+.1%}; "
                  f"p99 {true[1] / 1e6:.3g} ms, {slower[1]:.2f} x new, fitted {off[1]:+.1%} "
                  f"(unfitted {without[0]:+.0%}, {without[1]:+.0%}); figures of the run off by {misfit}; {took:.0f} s; "
                  + " ".join(f"{name}={value}({looks.get(name)})" for name, value in sorted(values.items())), flush=True)
    print(f"{within} of {ARGUMENTS.count} within 15 %, the worst off by {worst:.1%}; at 90 % full {shows} are slower by half "
          f"or more; {spent:.0f} s in fits")
    for pair, count in sorted(unreport.items(), key=lambda item: -item[1])[:10]:
        print(f"not report apart in {count}: {pair}")


if __name__ == "__main__":
    main()
