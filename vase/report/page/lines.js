// A track of curves over steps, with a legend that reads the values at the cursor.

import { coloured, element, svg } from "vase/elements.js";
import { format, indexAt, inView, LEFT, logTicks, RIGHT, stepScale, ticks } from "vase/chart.js";

const HEIGHT = 128;
const [TOP, BOTTOM] = [8, 8];
const EDGE = 3; // pixels beyond the first and the last step, so that the dots there are whole

/** Curves [{label, colour, steps, values, dashed, dots}] in one panel. */
export class LineTrack {
  constructor({ title, unit = "", curves, log = false, switches = [] }) {
    const positive = curves.every(({ values }) => values.every((value) => value === null || value > 0));
    Object.assign(this, { unit, curves, log: log && positive, switches });
    this.entries = curves.map((curve) => {
      const value = element("b");
      const item = element("li", { class: curve.dashed ? "dashed" : "" }, curve.label, " ", value);
      return { item: coloured(item, curve.colour), value };
    });
    this.heading = element("h3", {}, title, this.log ? element("small", {}, "log scale") : null);
    this.plot = svg("svg", { role: "img", height: HEIGHT, "aria-label": `${title} over training steps` });
    const legend = element(
      "ul",
      { class: "legend" },
      this.entries.map((entry) => entry.item),
    );
    this.node = element(
      "div",
      { class: "track-box" },
      element("div", { class: "track-head" }, this.heading, legend),
      this.plot,
    );
  }

  /** Draw what is in view. */
  draw(view, width) {
    const { x } = stepScale(view, width);
    const [low, high] = this.range(view);
    const y = this.vertical(low, high);
    const marks = this.log ? logTicks(low, high) : ticks(low, high);
    const grid = marks.map((value) =>
      svg(
        "g",
        { class: "tick" },
        svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
        svg(
          "text",
          { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" },
          this.unit === "%" ? `${format(value)} %` : format(value),
        ),
      ),
    );
    const lines = this.switches
      .filter((step) => step > view.start && step < view.end)
      .map((step) => svg("line", { class: "switch", x1: x(step), x2: x(step), y1: 0, y2: HEIGHT }));
    const room = width - LEFT - RIGHT + 2 * EDGE;
    const clip = svg(
      "svg",
      {
        x: LEFT - EDGE,
        y: 0,
        width: room,
        height: HEIGHT,
        viewBox: `${LEFT - EDGE} 0 ${room} ${HEIGHT}`,
      },
      lines,
      this.curves.map((curve) => this.curve(curve, view, x, y)),
    );
    this.plot.setAttribute("width", width);
    this.plot.replaceChildren(...grid, clip);
  }

  curve({ colour, steps, values, dashed, dots }, view, x, y) {
    const [first, last] = inView(steps, view);
    let path = "";
    const marks = [];
    for (let i = first, pen = "M"; i <= last; i++) {
      if (values[i] === null) {
        pen = "M";
        continue;
      }
      path += `${pen}${x(steps[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`;
      pen = "L";
      if (dots) marks.push(svg("circle", { cx: x(steps[i]), cy: y(values[i]), r: 2.5 }));
    }
    return coloured(svg("g", { class: dashed ? "curve dashed" : "curve" }, svg("path", { d: path }), marks), colour);
  }

  /** Show the values at a step; nothing before the first one. */
  point(step) {
    this.entries.forEach(({ value }, i) => {
      const { steps, values } = this.curves[i];
      const found = steps.length && steps[0] <= step ? values[indexAt(steps, step)] : null;
      value.textContent = found === null ? "–" : `${format(found)}\u00a0${this.unit}`.trim();
    });
  }

  range(view) {
    const seen = this.curves.flatMap(({ steps, values }) => {
      const [first, last] = inView(steps, view);
      return values.slice(first, last + 1).filter((value) => value !== null);
    });
    if (!seen.length) return [0.5, 1];
    const [low, high] = [Math.min(...seen), Math.max(...seen)];
    if (this.log) return [low / 1.1, high * 1.1];
    return [Math.min(0, low), high > 0 ? high * 1.05 : 1];
  }

  vertical(low, high) {
    const turn = this.log ? Math.log : (value) => value;
    const [bottom, top] = [turn(low), turn(high)];
    return (value) => TOP + (1 - (turn(value) - bottom) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
  }
}
