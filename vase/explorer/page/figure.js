// Export: strips with their labels as SVG or PNG, and animations as GIF.

import { ask, attempt, tell } from "vase/asking.js";
import { element } from "vase/elements.js";
import { rounded } from "vase/server-painter.js";

const ZOOM = 2; // figure units of one pixel
const LEFT = 150;
const GAP = 10;
const SHARP = 2; // PNG pixels of one figure unit

/** Buttons that save a figure as PNG or SVG, and an animation as GIF. */
export function exportButtons(name, figure, animation) {
  const button = (kind, act) =>
    element("button", { type: "button", "aria-label": `save ${name} as ${kind}`, click: () => attempt(act) }, kind);
  return element(
    "div",
    { class: "buttons export", role: "group", "aria-label": `Export ${name}` },
    button("PNG", async () => save(await rastered(figure()), `${name}.png`)),
    button("SVG", async () => save(new Blob([figure()], { type: "image/svg+xml" }), `${name}.svg`)),
    button("GIF", async () => {
      const question = animation();
      const made = await ask("animate", { ...question, codes: rounded(question.codes) });
      save(await made.blob(), `${name}.gif`);
    }),
  );
}

/** Rows of {text, canvas} as an SVG that holds its pictures. */
export function stripFigure(rows, [, height]) {
  const step = ZOOM * height + GAP;
  const width = LEFT + ZOOM * Math.max(...rows.map(({ canvas }) => canvas.width)) + GAP;
  const lines = rows.map(({ text, canvas }, i) => {
    const top = GAP + i * step;
    const middle = top + (ZOOM * height) / 2 + 4;
    const picture = `x="${LEFT}" y="${top}" width="${ZOOM * canvas.width}" height="${ZOOM * canvas.height}"`;
    return (
      `<text x="${LEFT - GAP}" y="${middle}" text-anchor="end">${escaped(text)}</text>` +
      `<image ${picture} style="image-rendering:pixelated" href="${canvas.toDataURL()}"/>`
    );
  });
  const size = `width="${width}" height="${GAP + rows.length * step}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12">` +
    `<rect width="100%" height="100%" fill="white"/>${lines.join("")}</svg>`
  );
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** An SVG as a PNG. */
async function rastered(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = element("canvas", { width: SHARP * image.width, height: SHARP * image.height });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  tell(`Saved ${name}.`);
}
