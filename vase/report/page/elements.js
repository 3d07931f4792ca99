// Elements of the page, built from a name, attributes and children.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that are functions listen to the event of their name; null and false are left out. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== false && value !== undefined)
      node.setAttribute(name, value === true ? "" : value);
  }
  const given = children.flat().filter((child) => child !== null && child !== undefined);
  node.append(...given.map((child) => (typeof child === "string" ? unbroken(child) : child)));
  return node;
}

/** A text in which no line ends within "28 %" or "p = 0.01". */
function unbroken(text) {
  return text.replaceAll(/(?<=\d) %/g, "\u00a0%").replaceAll(/\bp ([=<]) /g, "p\u00a0$1\u00a0");
}

/** Give a CSS variable to an element: the colour of a world or an environment. */
export function coloured(node, colour) {
  node.style.setProperty("--c", colour);
  return node;
}

/** Buttons that Tab passes as one, and arrow keys move among. Returns what chooses the one that Tab finds. */
export function oneTabStop(box, selector) {
  const all = () => [...box.querySelectorAll(selector)];
  const stopAt = (chosen) => all().forEach((one) => (one.tabIndex = one === chosen ? 0 : -1));
  box.addEventListener("focusin", ({ target }) => target.matches(selector) && stopAt(target));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const buttons = all();
    const place = buttons.indexOf(event.target);
    if (!step || place < 0) return;
    event.preventDefault();
    buttons.at((place + step) % buttons.length).focus();
  });
  return stopAt;
}

/** Call `draw(width)` now and whenever the width of an element changes. */
export function onWidth(node, draw) {
  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width > 0 && width !== last) draw((last = width));
  }).observe(node);
}
