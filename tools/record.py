"""Record the explorer of a run as an animated GIF: latents are dragged, the environment is switched, images are mixed.

    python tools/record.py runs/three-worlds --out docs/explorer.gif

Starts `vase explore` on the run and drives its page in Chromium (apt-get install chromium; Playwright is in the extra
dev). A frame is taken when the page has answered, so that the film runs at its own speed on any machine.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, Request, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WIDTH, HEIGHT = 800, 540  # of the GIF
ZOOM = 0.8  # screen pixels of one CSS pixel: the page gets its wide layout
FRAME = 80  # milliseconds
LARGEST = 2_000_000  # bytes
COLOURS = (128, 64, 32)  # tried in turn until the file is small enough
PATIENCE = 20_000  # milliseconds for the answers to one move
POINTER = """() => {
  const pointer = document.createElement("div");
  Object.assign(pointer.style, {
    position: "fixed", left: "-40px", top: "-40px", width: "18px", height: "26px", zIndex: 99, pointerEvents: "none",
    background: "#111", clipPath: "polygon(0 0, 0 82%, 26% 64%, 44% 100%, 62% 93%, 45% 58%, 82% 58%)",
    filter: "drop-shadow(0 0 1px white)",
  });
  document.body.append(pointer);
  addEventListener("pointermove", (event) => {
    pointer.style.left = `${event.clientX}px`;
    pointer.style.top = `${event.clientY}px`;
  }, true);
}"""


def path_between(*stops: float, steps: int) -> list[float]:
    """Places on the way over some stops, `steps` to each stop, slower near the stops.

    >>> path_between(0, 1, 0.5, steps=2)
    [0.5, 1.0, 0.75, 0.5]
    """
    found = []
    for start, end in pairwise(stops):
        shares = [i / steps for i in range(1, steps + 1)]
        found += [start + (end - start) * (3 * share**2 - 2 * share**3) for share in shares]
    return found


def assemble(frames: Sequence[Image.Image], *, duration: int = FRAME, largest: int = LARGEST) -> bytes:
    """Frames as a GIF that loops, in one palette of their own; fewer colours until it has at most `largest` bytes.

    Frames that are equal to the one before become one that lasts longer.
    """
    if not frames:
        raise ValueError("no frame: take at least one.")
    size = 0
    for colours in COLOURS:
        palette = _sample(frames).quantize(colours, Image.Quantize.MEDIANCUT)
        drawn = [frame.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
        file = io.BytesIO()
        drawn[0].save(file, "GIF", save_all=True, append_images=drawn[1:], duration=duration, loop=0, optimize=False)
        size = file.tell()
        if size <= largest:
            return file.getvalue()
    raise ValueError(
        f"{len(frames)} frames take {size / 1e6:.1f} MB in {COLOURS[-1]} colours, and {largest / 1e6:g} MB are "
        "allowed; record fewer or smaller frames."
    )


def _sample(frames: Sequence[Image.Image], most: int = 8) -> Image.Image:
    """A few frames below each other, whose colours stand for all."""
    chosen = [frame.convert("RGB") for frame in frames[:: -(-len(frames) // most)]]
    sheet = Image.new("RGB", (chosen[0].width, sum(frame.height for frame in chosen)))
    top = 0
    for frame in chosen:
        sheet.paste(frame, (0, top))
        top += frame.height
    return sheet


class Film:
    """A page that is driven by a mouse, and the frames taken of it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.open_questions = 0
        page.on("request", lambda request: self.count(request, 1))
        page.on("requestfinished", lambda request: self.count(request, -1))
        page.on("requestfailed", lambda request: self.count(request, -1))

    def count(self, request: Request, change: int) -> None:
        """Count what the server has not answered yet; pictures in data: addresses are no questions."""
        if request.url.startswith("http"):
            self.open_questions += change

    def settle(self, least: int = 40) -> None:
        """Wait until everything that the page asked is answered and drawn."""
        waited = 0
        while waited < PATIENCE and (waited < least or self.open_questions):
            self.page.wait_for_timeout(20)
            waited += 20
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def take(self, count: int = 1) -> None:
        """Show what is there for some frames."""
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        self.frames += [picture] * count

    def drag(self, slider: Locator, *stops: float, steps: int = 8) -> None:
        """Drag a slider from where it is over some stops, as shares of its length, a frame for each place."""
        box = slider.bounding_box()
        if box is None:
            raise RuntimeError("the slider is not visible.")
        low, high, value = (float(slider.evaluate(f"(one) => one.{name}")) for name in ("min", "max", "value"))
        y, left, room = box["y"] + box["height"] / 2, box["x"] + 8, box["width"] - 16  # the thumb is 16 wide
        start = (value - low) / (high - low)
        self.page.mouse.move(left + start * room, y)
        self.page.mouse.down()
        for place in path_between(start, *stops, steps=steps):
            self.page.mouse.move(left + place * room, y)
            self.settle()
            self.take()
        self.page.mouse.up()
        self.settle(200)  # strips are drawn after a pause
        self.take(3)

    def press(self, target: Locator) -> None:
        """Click something, and look at what happens."""
        target.hover()
        self.take(2)
        target.click()
        self.settle(250)
        self.take(7)

    def scroll(self, selector: str, steps: int = 5) -> None:
        """Bring a part of the page to the top."""
        distance = self.page.evaluate(f"document.querySelector('{selector}').getBoundingClientRect().top") - 12
        start = self.page.evaluate("scrollY")
        for place in path_between(0, 1, steps=steps):
            self.page.evaluate(f"scrollTo(0, {start + place * distance})")
            self.settle()
            self.take()


def play(film: Film) -> None:
    """Drag two latents, decode the same code in other environments, and mix two images."""
    page = film.page
    page.evaluate("scrollTo(0, document.querySelector('#live').getBoundingClientRect().top + scrollY - 12)")
    film.settle(300)
    film.take(5)
    for n in range(2):
        film.drag(page.locator(".latent[data-state='used'] input[type=range]").nth(n), 0.95, 0.05, 0.6, steps=8)
    choices = page.locator(".choice")
    first = next((s for s in range(choices.count()) if choices.nth(s).locator("input").is_checked()), 0)
    for s in [s for s in range(choices.count()) if s != first][:2]:
        film.press(choices.nth(s))
    film.scroll("#two")
    film.drag(page.get_by_role("slider", name="From image A to image B"), 0.05, 0.95, 0.5, steps=8)
    film.take(6)


@contextmanager
def explorer(run: str, data: str | None) -> Iterator[str]:
    """The address of `vase explore` on a run, for as long as the context lasts."""
    command = [sys.executable, "-m", "vase", "explore", run, "--no-browser", *(["--data", data] if data else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline() if process.stdout else ""
        found = re.search(r"http://\S+", said)
        if found is None:
            raise RuntimeError(f"vase explore {run} did not start; what it says about it stands above.")
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def record(run: str, *, data: str | None = None, scheme: str = "light") -> list[Image.Image]:
    """The frames of the film."""
    browser_path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        raise FileNotFoundError("no browser: apt-get install chromium.")
    with explorer(run, data) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=list(QUIET))
        viewport = {"width": round(WIDTH / ZOOM), "height": round(HEIGHT / ZOOM)}
        page = browser.new_page(viewport=viewport, device_scale_factor=ZOOM, color_scheme=scheme)
        page.set_default_timeout(600_000)
        film = Film(page)
        page.goto(address)
        page.locator("#origin .verdict").wait_for()
        page.evaluate(POINTER)
        film.settle(500)
        play(film)
        browser.close()
    return film.frames


def main() -> int:
    """Record and write the GIF."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", help="a run directory")
    parser.add_argument("--out", required=True, metavar="FILE", help="the GIF to write, e.g. docs/explorer.gif")
    parser.add_argument("--data", metavar="DIR", help="folder with the data sets")
    parser.add_argument("--dark", action="store_true", help="record the dark page")
    arguments = parser.parse_args()
    try:
        frames = record(arguments.run, data=arguments.data, scheme="dark" if arguments.dark else "light")
        made = assemble(frames)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    Path(arguments.out).write_bytes(made)
    seconds = len(frames) * FRAME / 1000
    print(f"{arguments.out} ({len(frames)} frames, {seconds:.1f} s, {len(made) / 1e6:.2f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
