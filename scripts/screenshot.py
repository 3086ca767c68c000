#!/usr/bin/env python3
"""Makes a PNG of a page as headless Chromium draws it.

usage: screenshot.py PAGE.html OUT.png [--width 1440] [--height 900] [--theme light|dark]
                     [--scale 1] [--full] [--from SELECTOR] [--print]

Without --full the picture is the first screen. With --from it begins at the first element that the
CSS selector finds. Exit status 77: no Chromium here (set CHROMIUM to name one).
"""

import argparse
import base64
import json
import pathlib
import sys

import chromium


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--from", dest="start", metavar="SELECTOR")
    parser.add_argument("--print", dest="paper", action="store_true", help="as it prints")
    return parser.parse_args()


def clip(browser, args):
    """The part of the page to draw, in CSS pixels."""
    top = 0
    if args.start:
        selector = json.dumps(args.start)
        top = browser.evaluate(f"document.querySelector({selector}).getBoundingClientRect().top + scrollY")
    whole = browser.evaluate("document.documentElement.scrollHeight") - top
    height = whole if args.full else min(args.height, whole)
    return {"x": 0, "y": top, "width": args.width, "height": height, "scale": 1}


def main():
    args = arguments()
    path = chromium.find()
    if path is None:
        print("skipped: no chromium found; set CHROMIUM to name one", file=sys.stderr)
        return 77
    with chromium.Browser(path) as browser:
        media = "print" if args.paper else "screen"
        browser.view(args.width, args.height, args.theme, args.scale, media)
        browser.open(args.page.resolve().as_uri())
        shot = browser.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip(browser, args)
        )
    args.out.write_bytes(base64.b64decode(shot["data"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
