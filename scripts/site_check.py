#!/usr/bin/env python3
"""Opens a site in headless Chromium from its file:// address and uses it.

usage: site_check.py SITE [--loads-within SECONDS] [--rows N]

Every kind of page is looked at as by chromium_check.py: 360 and 1400 px, light and dark, no console
message, no request but for pages and style sheet of the site. The table is searched, filtered and
sorted: what the script shows of a row must be what the page had of it. Two devices are compared.
With --loads-within the table must be there and usable within that time, by the browser's own clock.
Exit status 1: something was found, on standard output. 77: no Chromium here.
"""

import argparse
import pathlib
import sys

import chromium
import chromium_check

TEXTS = "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent.replaceAll('\u00a0', ' ')).join('|'))"
CLASSES = "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.className).join('|'))"
TYPE = "(() => { const f = document.getElementById('controls'); f.search.value = %r; f.search.dispatchEvent(new Event('input')); })()"
COUNT = "document.getElementById('count').textContent"
HEAD = "document.querySelectorAll('#table thead button')[%d].click()"
LOADED = """(() => { const n = performance.getEntriesByType('navigation')[0];
  const p = performance.getEntriesByName('first-contentful-paint')[0];
  return { loaded: n.loadEventEnd, painted: p ? p.startTime : 0 }; })()"""


def pages_of(site):
    """Each kind of page once: the tables, comparing, what is apart, two devices."""
    devices = sorted((site / "device").glob("*.html"))
    return [site / "index.html", site / "compare.html", site / "apart.html", *devices[:2]]


def looks(browser, site, found):
    for page in pages_of(site):
        for width in chromium_check.WIDTHS:
            for scheme in chromium_check.SCHEMES:
                for problem in chromium_check.check_view(browser, page, width, scheme):
                    if not (problem.startswith("requests file:") and problem.endswith("/style.css")):
                        found.append(f"{page.name} at {width} px, {scheme}: {problem}")


def table(browser, site, found, rows):
    browser.view(1400, 900, "light")
    browser.open((site / "index.html").resolve().as_uri())
    before, classes = browser.evaluate(TEXTS), browser.evaluate(CLASSES)
    browser.evaluate(TYPE % "")
    if browser.evaluate(TEXTS) != before or browser.evaluate(CLASSES) != classes:
        found.append("the script shows other rows than the page had")
    name = before[-1].split("|")[0]
    browser.evaluate(TYPE % name.upper())
    shown = browser.evaluate(TEXTS)
    if not shown or not all(all(w in row.lower() for w in name.lower().split()) for row in shown):
        found.append(f"a search for {name} shows {shown[:3]}")
    browser.evaluate(TYPE % "no such device <b>")
    if browser.evaluate(TEXTS) != [] or not browser.evaluate(COUNT).startswith("0 of"):
        found.append("a search for nothing finds something")
    browser.evaluate(TYPE % "")
    browser.evaluate(HEAD % 9)
    number = lambda text: float(text.replace(",", "")) if text[:1].isdigit() else float("inf")
    times = [number(row.split("|")[9]) for row in browser.evaluate(TEXTS)]
    if times != sorted(times):
        found.append(f"not sorted by p99: {times[:9]}")
    browser.evaluate(HEAD % 9)
    times = [number(row.split("|")[9]) for row in browser.evaluate(TEXTS)]
    known = [time for time in times if time != float("inf")]
    if known != sorted(known, reverse=True) or times[: len(known)] != known:
        found.append(f"not sorted downwards by p99: {times[:9]}")
    if rows is not None and f"{rows:,} rows" not in browser.evaluate(COUNT):
        found.append(f"{browser.evaluate(COUNT)} and not {rows:,} rows")
    facet = browser.evaluate(
        "(() => { const s = document.getElementById('controls').filesystem; s.value = s.options[1].value;"
        " s.dispatchEvent(new Event('change')); return s.value; })()"
    )
    kinds = {row.split("|")[3] for row in browser.evaluate(TEXTS)}
    if kinds != {facet}:
        found.append(f"a filter for {facet} shows {kinds}")


def comparison(browser, site, found):
    browser.open((site / "compare.html").resolve().as_uri() + "#a=0&b=1")
    rows = browser.evaluate("document.querySelectorAll('.versus tbody tr').length")
    said = browser.evaluate("document.getElementById('result').textContent")
    if rows == 0 and "no test in common" not in said:
        found.append(f"nothing is compared: {said[:200]}")
    same = browser.evaluate(
        "(() => { const d = JSON.parse(document.getElementById('data').textContent);"
        " const wanted = d.subjects[0][3].length; location.hash = '#a=0&b=0'; return wanted; })()"
    )
    browser.open("about:blank")
    browser.open((site / "compare.html").resolve().as_uri() + "#a=0&b=0")
    ratios = browser.evaluate("[...document.querySelectorAll('.versus td b')].map((b) => b.textContent)")
    if any(ratio not in ("1.00×", "-") for ratio in ratios) or len(ratios) != 5 * same:
        found.append(f"a device beside itself: {len(ratios)} ratios of {same} tests, {sorted(set(ratios))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--loads-within", type=float)
    parser.add_argument("--rows", type=int)
    args = parser.parse_args()
    path = chromium.find()
    if path is None:
        print("skipped: no chromium found; set CHROMIUM to name one", file=sys.stderr)
        return 77
    found = []
    with chromium.Browser(path) as browser:
        if args.loads_within is None:
            looks(browser, args.site, found)
            comparison(browser, args.site, found)
        else:
            for page in ("index.html", "compare.html"):
                took = []
                for _ in range(3):
                    browser.open("about:blank")
                    browser.open((args.site / page).resolve().as_uri())
                    took.append(browser.evaluate(LOADED))
                best = min(it["loaded"] for it in took) / 1000
                print(f"{page}: " + ", ".join(f"loaded {it['loaded']:.0f} ms" for it in took))
                if page == "index.html" and best > args.loads_within:
                    found.append(f"{page} takes {best:.2f} s to load, more than {args.loads_within}")
        table(browser, args.site, found, args.rows)
    for problem in found:
        print(problem)
    print(f"{args.site.name}: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
