#!/usr/bin/env python3
"""Opens pages in headless Chromium and reports what a reader would stumble over.

usage: chromium_check.py [--tallest NAME=PIXELS]... PAGE.html...

Each page is opened at 360 and 1400 px, light and dark: no console message, no request but for the
page itself, no sideways scrolling, no text over other text in a chart, a name for every picture,
headings in order, links within the page that lead somewhere, ids that are unique, readable contrast.
With --tallest the page of that name must not be higher than that at 1400 px.
Exit status 1: something was found, on standard output. 77: no Chromium here.
"""

import argparse
import json
import pathlib
import sys

import chromium

WIDTHS = [360, 1400]
SCHEMES = ["light", "dark"]

# Run in the page by the debugger: the page itself carries no script.
PROBE = r"""
(() => {
  const found = [];
  const root = document.documentElement;
  const name = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') +
    (e.getAttribute('class') ? '.' + e.getAttribute('class').trim().replace(/\s+/g, '.') : '') +
    ' "' + (e.textContent || '').trim().slice(0, 40) + '"';
  const shown = (e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(e).visibility === 'visible';
  };
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.body.querySelectorAll('*')]
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5)
      .filter((e) => !e.closest('.scroll, pre'));
    found.push(`scrolls sideways: ${root.scrollWidth} > ${innerWidth}: ${wide.slice(0, 4).map(name).join('; ')}`);
  }
  for (const svg of document.querySelectorAll('svg')) {
    if (svg.ownerSVGElement || !shown(svg)) continue;
    const texts = [...svg.querySelectorAll('text')].filter(shown);
    const boxes = texts.map((t) => t.getBoundingClientRect());
    for (let i = 0; i < texts.length; i++) {
      if (boxes[i].right > innerWidth + 0.5 || boxes[i].left < -0.5) {
        found.push(`chart text leaves the page: ${name(texts[i])}`);
      }
      for (let j = i + 1; j < texts.length; j++) {
        const [a, b] = [boxes[i], boxes[j]];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 4) found.push(`chart text overlaps: ${name(texts[i])} and ${name(texts[j])}`);
      }
    }
    const named = svg.getAttribute('aria-hidden') === 'true' ||
      (svg.getAttribute('role') === 'img' && (svg.getAttribute('aria-label') || '').trim());
    if (!named) found.push(`picture without a name: ${name(svg)}`);
  }
  let level = 0;
  for (const h of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) found.push(`heading level jumps from ${level} to ${now}: ${name(h)}`);
    if (!h.textContent.trim()) found.push(`empty heading: ${name(h)}`);
    level = now;
  }
  if (document.querySelectorAll('h1').length !== 1) found.push('not exactly one h1');
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (ids.has(e.id)) found.push(`id used twice: ${e.id}`);
    ids.add(e.id);
  }
  for (const a of document.querySelectorAll('a[href^="#"]')) {
    if (!ids.has(a.getAttribute('href').slice(1))) found.push(`link leads nowhere: ${name(a)}`);
  }
  for (const th of document.querySelectorAll('th')) {
    if (!th.getAttribute('scope')) found.push(`header cell without scope: ${name(th)}`);
  }
  for (const table of document.querySelectorAll('table')) {
    if (!table.caption && !table.getAttribute('aria-label') && !table.getAttribute('aria-labelledby')) {
      found.push(`table without a name: ${name(table)}`);
    }
  }
  const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = (c) => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || (c.length === 4 && c[3] > 0.99)) return c;
    }
    return [255, 255, 255];
  };
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !shown(e) || e.closest('defs')) continue;
    const style = getComputedStyle(e);
    const ink = rgb(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(1)}: ${name(e)}`);
  }
  return [...new Set(found)];
})()
"""


def check_view(browser, page, width, scheme):
    """What is wrong with one page in one view, in words."""
    browser.view(width, 900, scheme)
    url = page.resolve().as_uri()
    events = browser.open(url)
    found = list(browser.evaluate(PROBE))
    for event in events + browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent" and params["request"]["url"].split("#")[0] != url:
            found.append(f"requests {params['request']['url'][:120]}")
        elif method == "Log.entryAdded":
            found.append(f"console: {params['entry']['text'][:200]}")
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            found.append(f"script ran: {json.dumps(params)[:200]}")
        elif method == "Page.javascriptDialogOpening":
            found.append(f"dialog: {params.get('message')}")
    return sorted(set(found))


def too_tall(browser, page, most):
    """That a page is higher than it may be, in words."""
    browser.view(1400, 900, "light")
    browser.open(page.resolve().as_uri())
    height = browser.evaluate("document.documentElement.scrollHeight")
    return [f"{height} px high, more than {most}"] if height > most else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--tallest", action="append", default=[], metavar="NAME=PIXELS")
    args = parser.parse_args()
    pages = args.pages
    tallest = dict(limit.split("=") for limit in args.tallest)
    path = chromium.find()
    if path is None:
        print("skipped: no chromium found; set CHROMIUM to name one", file=sys.stderr)
        return 77
    wrong = 0
    with chromium.Browser(path) as browser:
        for page in pages:
            if page.stem in tallest:
                for problem in too_tall(browser, page, int(tallest[page.stem])):
                    print(f"{page.name}: {problem}")
                    wrong += 1
            for width in WIDTHS:
                for scheme in SCHEMES:
                    for problem in check_view(browser, page, width, scheme):
                        print(f"{page.name} at {width} px, {scheme}: {problem}")
                        wrong += 1
    print(f"{len(pages)} pages in {len(WIDTHS) * len(SCHEMES)} views: {wrong} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
