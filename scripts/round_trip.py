#!/usr/bin/env python3
"""Round trip of fits: profiles with hidden parameters are simulated, fitted to the runs, and both
forecast storage that is 90 % full. Prints how far p50 and p99 of durable writes are apart.

    scripts/round_trip.py [COUNT] [PROFILE] [SIMULATIONS]
"""
import json, math, pathlib, random, re, subprocess, sys, tempfile

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 20
BASE = sys.argv[2] if len(sys.argv) > 2 else "nexus5-2013"
SIMULATIONS = sys.argv[3] if len(sys.argv) > 3 else "300"
FLASHLAG = pathlib.Path(__file__).resolve().parent.parent / "target/release/flashlag"
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "": 1}


def flashlag(*arguments):
    done = subprocess.run([FLASHLAG, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"flashlag {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def small(text):
    """The same device with 2 GiB for its host, so that a lifetime takes a second."""
    return re.sub(r'^capacity = \{ value = "[^"]*", range = \[[^\]]*\]', 'capacity = { value = "2GiB"', text, flags=re.M)


def hidden(text, seed):
    """Times that have a range, moved by up to a third either way within it."""
    chance = random.Random(seed)

    def moved(match):
        name, value, unit, low, high = match.group(1, 2, 3, 4, 5)
        to_ns = lambda words: float(re.match(r"[\d.]+", words).group()) * UNITS[re.sub(r"[\d.]", "", words)]
        wanted = float(value) * UNITS[unit] * math.exp(chance.uniform(-0.3, 0.3))
        wanted = min(max(wanted, to_ns(low)), to_ns(high))
        return f'{name} = {{ value = "{wanted:.0f}ns", range = ["{low}", "{high}"]'

    pattern = r'^(\w+) = \{ value = "([\d.]+)(ns|us|ms|s)", range = \["([^"]*)", "([^"]*)"\]'
    return re.sub(pattern, moved, text, flags=re.M)


def forecast(profile):
    for line in flashlag("predict", profile, "--change", "full=90%").splitlines():
        if line.startswith("full=90%"):
            numbers = re.findall(r"([\d.]+) (ns|µs|ms|s)\b", line)
            return [float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit] for number, unit in numbers[:2]]
    raise SystemExit(f"no forecast of {profile}")


def main():
    base_text = small(flashlag("profiles", "show", BASE))
    within = 0
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        (home / "base.toml").write_text(base_text)
        for seed in range(1, COUNT + 1):
            (home / "hidden.toml").write_text(hidden(base_text, seed))
            run = home / "run.json"
            flashlag("run", "lifecycle", "--on", f"sim:{home}/hidden.toml", "-o", run)
            flashlag("fit", run, "--from", home / "base.toml", "-o", home / "fitted.toml",
                     "--simulations", SIMULATIONS, "--starts", "1")
            true, found = forecast(home / "hidden.toml"), forecast(home / "fitted.toml")
            off = [f / t - 1 for t, f in zip(true, found)]
            within += all(abs(error) <= 0.15 for error in off)
            print(f"set {seed:2}: p50 {true[0] / 1e6:.3g} ms, fitted {off[0]:+.1%}; "
                  f"p99 {true[1] / 1e6:.3g} ms, fitted {off[1]:+.1%}", flush=True)
    print(f"{within} of {COUNT} within 15 %")


if __name__ == "__main__":
    main()
