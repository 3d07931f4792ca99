// The atypicality of every latent as a heat map: two colours that part at the threshold λ, a line where it is masked.

import { element } from "vase/elements.js";
import { format, indexAt, inView, LEFT, RIGHT, stepScale } from "vase/chart.js";

const LINES = 3; // pixel rows of a latent: the middle one shows the mask

/** Latents from top to bottom, steps from left to right. */
export class HeatTrack {
  constructor({ timeline, latents }) {
    Object.assign(this, timeline);
    this.count = timeline.atypicality[0].length;
    this.sets = timeline.masked.map((list) => new Set(list));
    this.row = this.count <= 32 ? 12 : 6;
    this.top = timeline.atypicality.flat().reduce((top, alpha) => Math.max(top, alpha), 2 * this.threshold);
    this.canvas = element("canvas", { role: "img", "aria-label": "Atypicality of each latent over training steps" });
    this.value = element("b");
    const labels = Array.from({ length: this.count }, (_, n) => this.label(n, latents.names));
    const heading = element("h3", {}, "Atypicality of each latent", element("small", {}, "line: masked"));
    const head = element("div", { class: "track-head" }, heading, this.legend());
    const body = element(
      "div",
      { class: "heat" },
      element("div", { class: "heat-labels", "aria-hidden": "true" }, labels),
      element("div", { class: "heat-window" }, this.canvas),
    );
    body.style.setProperty("--row", `${this.row}px`);
    body.style.setProperty("--left", `${LEFT}px`);
    body.style.setProperty("--right", `${RIGHT}px`);
    this.node = element("div", { class: "track-box" }, head, body);
  }

  label(n, names) {
    const shown = this.row > 8 || n % 4 === 0;
    return element("span", {}, shown ? `${names[n] ? `${names[n]} ` : ""}z${n}` : "");
  }

  legend() {
    const scale = element("span", { class: "heat-scale" });
    return element(
      "ul",
      { class: "legend plain" },
      element("li", {}, "most atypical: ", this.value),
      element(
        "li",
        { class: "scale" },
        "0",
        scale,
        format(this.top),
        element("small", {}, `λ = ${format(this.threshold)} in the middle`),
      ),
    );
  }

  draw(view, width) {
    const { x } = stepScale(view, width);
    const [first, last] = inView(this.steps, view);
    const colours = palette(this.node);
    const columns = last - first + 1;
    this.canvas.width = columns;
    this.canvas.height = LINES * this.count;
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(columns, LINES * this.count);
    for (let n = 0; n < this.count; n++)
      for (let line = 0; line < LINES; line++)
        for (let column = 0; column < columns; column++) {
          const i = first + column;
          const masked = line === 1 && this.sets[i].has(n);
          const colour = masked ? colours.mask : heat(this.atypicality[i][n], this.threshold, this.top, colours);
          image.data.set(colour, 4 * ((LINES * n + line) * columns + column));
        }
    context.putImageData(image, 0, 0);
    const every = this.steps.length > 1 ? this.steps[1] - this.steps[0] : this.steps[0];
    const left = x(this.steps[first] - every);
    this.canvas.style.left = `${left - LEFT}px`;
    this.canvas.style.width = `${x(this.steps[last]) - left}px`;
  }

  /** Name the latent with the largest α at a step. */
  point(step) {
    const alphas = this.atypicality[indexAt(this.steps, step)];
    const best = alphas.reduce((found, alpha, n) => (alpha > alphas[found] ? n : found), 0);
    this.value.textContent = `z${best}, ${format(alphas[best])}`;
  }
}

/** The colours of the theme, which the style sheet keeps as "r g b". */
function palette(node) {
  const style = getComputedStyle(node);
  const read = (name) => [...style.getPropertyValue(name).trim().split(/\s+/).map(Number), 255];
  return {
    low: read("--heat-low"),
    below: read("--heat-below"),
    above: read("--heat-above"),
    high: read("--heat-high"),
    mask: read("--heat-mask"),
  };
}

/** The colour of α, on a square-root scale with λ in the middle. */
function heat(alpha, threshold, top, colours) {
  if (alpha === null) return [0, 0, 0, 0];
  const under = alpha <= threshold;
  const share = Math.sqrt(under ? alpha / threshold : Math.min(1, (alpha - threshold) / (top - threshold)));
  const [from, to] = under ? [colours.low, colours.below] : [colours.above, colours.high];
  return from.map((value, i) => value + share * (to[i] - value));
}
