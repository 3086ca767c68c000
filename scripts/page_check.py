#!/usr/bin/env python3
"""Asks the page of the model for figures in headless Chromium, and looks whether it reads well.

usage: page_check.py PAGE.html [QUESTION.json...]

Each question is chosen on the page as a reader would: device, filesystem, barriers, how full, how old. What
the page then shows is printed as a line of JSON, with the run file that it offers. Before that, the page is
looked at as every report is (chromium_check.py), at 390 and 1400 px, light and dark, and must ask for nothing
but itself. Exit status 1: something was found. 77: no Chromium here.
"""

import json
import pathlib
import sys
import time

import chromium
from chromium_check import PROBE, SCHEMES

WIDTHS = [390, 1400]
# The run file that the button offers, kept instead of downloaded.
CATCH = """
window.kept = null;
URL.createObjectURL = ((made) => (blob) => {
  if (blob.type === 'application/json') blob.text().then((text) => { window.kept = text; });
  return made.call(URL, blob);
})(URL.createObjectURL);
HTMLAnchorElement.prototype.click = () => {};
"""
SHOWN = """
(() => {
  const text = (id) => document.getElementById(id).textContent;
  const hidden = (id) => document.getElementById(id).hidden;
  return {
    sentence: text('sentence'),
    more: text('more'),
    believe: text('believe'),
    refused: hidden('refused') ? null : text('refused'),
    figures: hidden('answer') ? null : [...document.querySelectorAll('#rows tr')].map((row) =>
      [...row.children].map((cell) => cell.textContent)),
    command: text('command'),
    curves: document.querySelectorAll('#drawing path').length,
    state: text('state'),
  };
})()
"""


def wait_until(browser, condition, what):
    """Returns when the page says so."""
    deadline = time.time() + 120
    while not browser.evaluate(condition):
        if time.time() > deadline:
            raise chromium.BrowserError(f"not in time: {what}")
        time.sleep(0.02)


def answered(browser):
    wait_until(browser, "Boolean(document.body.dataset.answered)", "an answer")


def strange_requests(events, url):
    """Requests for anything but the page and what it made itself, and messages of the console."""
    found = []
    for event in events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            asked = params["request"]["url"].split("#")[0]
            if asked != url and not asked.startswith("blob:"):
                found.append(f"requests {asked[:120]}")
        elif method == "Log.entryAdded":
            found.append(f"console: {params['entry']['text'][:200]}")
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            found.append(f"{method}: {json.dumps(params)[:300]}")
    return found


def look(browser, url):
    """What a reader would stumble over, in four views."""
    found = []
    for width in WIDTHS:
        for scheme in SCHEMES:
            browser.view(width, 844, scheme)
            events = browser.open(url)
            answered(browser)
            problems = list(browser.evaluate(PROBE)) + strange_requests(events + browser.events, url)
            found += [f"{width} px, {scheme}: {problem}" for problem in sorted(set(problems))]
    return found


def choose(browser, question):
    """Chooses on the page what a question says, keeps the run file, and has it forecast what was chosen."""
    forecast = question.pop("forecast", False)
    # Another device brings its own filesystem and barriers, so it is chosen first.
    for name, value in sorted(question.items(), key=lambda chosen: chosen[0] != "device"):
        place, event = ("checked", "input") if isinstance(value, bool) else ("value", "input")
        event = "change" if name == "device" else event
        browser.evaluate(
            f"{{ const it = document.getElementById({json.dumps(name)});"
            f" it.{place} = {json.dumps(value)}; it.dispatchEvent(new Event({json.dumps(event)})); }}"
        )
    answered(browser)
    shown = browser.evaluate(SHOWN)
    if shown["refused"] is None:
        browser.evaluate("window.kept = null; document.getElementById('keep').click()")
        wait_until(browser, "window.kept !== null", "the run file")
        shown["run"] = json.loads(browser.evaluate("window.kept"))
    if forecast:
        browser.evaluate("document.getElementById('foresee').click()")
        wait_until(browser, "!document.getElementById('foreseen').hidden", "a forecast")
        both = "[...document.querySelectorAll('#foreseen code')].map((code) => code.textContent)"
        shown["forecast_command"], shown["forecast"] = browser.evaluate(both)
    return shown


def main():
    path = chromium.find()
    if path is None:
        print("skipped: no chromium found; set CHROMIUM to name one", file=sys.stderr)
        return 77
    url = pathlib.Path(sys.argv[1]).resolve().as_uri()
    with chromium.Browser(path) as browser:
        found = look(browser, url)
        for problem in found:
            print(problem, file=sys.stderr)
        browser.evaluate(CATCH)
        for question in sys.argv[2:]:
            print(json.dumps(choose(browser, json.loads(question))))
        late = strange_requests(browser.events, url)
        for problem in late:
            print(problem, file=sys.stderr)
    return 1 if found or late else 0


if __name__ == "__main__":
    sys.exit(main())
