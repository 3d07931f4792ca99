"""What a designer would object to in a page, found by the browser: contrast, names, sizes, overlap, labels cut off."""

from __future__ import annotations

from typing import Any

SETTLE = """() => {
  scrollTo(0, 0); // what sticks to the top lies on nothing there
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""Tracks are drawn again for a new width."""

WEAK = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const painted = (colours) => {
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    const found = [];
    for (let at = node; at; at = at.parentElement) found.unshift(getComputedStyle(at).backgroundColor);
    return ["white", getComputedStyle(document.documentElement).colorScheme === "dark" ? "black" : "white", ...found];
  };
  const opacity = (node) => (node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1);
  const weak = [];
  for (const node of document.querySelectorAll("body *")) {
    const typed = node.matches("input[type=text]") && node.value;
    const own = typed || [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(".hidden, option, title, script, noscript")) continue;
    const style = getComputedStyle(node);
    const bar = node.closest("svg .bar")?.querySelector("rect"); // SVG text stands on its section, or on a bar
    const back = [...behind(node.closest("svg") ?? node), ...(bar ? [getComputedStyle(bar).fill] : [])];
    const front = node.closest("svg") ? style.fill : style.color;
    const [ground, letters] = [painted(back), painted([...back, front])];
    const shown = letters.map((v, i) => ground[i] + opacity(node) * (v - ground[i]));
    const [a, b] = [light(ground), light(shown)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)}:1 ${node.tagName} ${node.textContent.slice(0, 20)}`);
  }
  return [...new Set(weak)];
}"""
"""Text with a contrast below 4.5:1 (WCAG 1.4.3)."""

NAMELESS = """() => [...document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), svg[role]")]
  .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length))
  .map((one) => one.outerHTML)"""
"""Controls and pictures without a name."""

SMALL = """() => [...document.querySelectorAll("button, select, summary, .choice, input:not(.choice input, .hidden)")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 0 && Math.min(width, height) < 23.9)
  .map(([one, { width, height }]) => `${width.toFixed(0)}x${height.toFixed(0)} ${one.outerHTML.slice(0, 80)}`)"""
"""Controls smaller than 24 pixels (WCAG 2.5.8)."""

COLLIDING = """() => {
  const scrolled = ".scroll, .map, .gallery, .picker, .chooser"; // what is cut off there can be scrolled to
  const texts = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility()) continue;
    if (parent.closest(`${scrolled}, .hidden, option, title, script`)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects())
      texts.push({ left: left + 1, right: right - 1, top: top + 3, bottom: bottom - 3, node, parent });
  }
  const found = [];
  const words = ({ node }) => node.textContent.trim().slice(0, 24);
  for (const one of texts) {
    const outer = one.parent.closest("section, .run, main").getBoundingClientRect();
    if (one.left < outer.left || one.right > outer.right) found.push(`${words(one)} leaves its section`);
    for (let at = one.parent; at && !at.matches("section"); at = at.parentElement) {
      const { overflowX } = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      const cut = overflowX !== "visible" && !at.matches("svg") && one.right > box.right + 1;
      if (cut) found.push(`${words(one)} is cut`);
    }
  }
  texts.sort((a, b) => a.top - b.top);
  for (const [i, a] of texts.entries())
    for (let j = i + 1; j < texts.length && texts[j].top < a.bottom; j++) {
      const b = texts[j];
      if (a.node !== b.node && a.left < b.right && b.left < a.right && b.top < a.bottom)
        found.push(`${words(a)} / ${words(b)}`);
    }
  return [...new Set(found)];
}"""
"""Text that lies on other text, leaves its section, or is cut off."""


CHECKS = {"weak": WEAK, "nameless": NAMELESS, "small": SMALL, "colliding": COLLIDING}


def flaws(page: Any) -> dict[str, list[str]]:
    """Everything that is found in a page as it stands; empty if there is nothing."""
    page.evaluate(SETTLE)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    found = {name: page.evaluate(check) for name, check in CHECKS.items()}
    found["overflow"] = [f"{wide} pixels"] if wide > 0 else []
    return {name: flaw for name, flaw in found.items() if flaw}
