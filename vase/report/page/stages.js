// The track of stages: the world that the stream showed, the environment that the learner inferred, and its switches.

import { coloured, element, svg } from "vase/elements.js";
import { format, LEFT, RIGHT, stepScale, ticks } from "vase/chart.js";

const BAR = 26;
const HEIGHT = 2 * BAR + 8;
const AXIS = 26; // height of the axis, which has a layer of its own: the cursor passes behind its numbers
const SIZES = [12, 10]; // of letters, in pixels
const LETTER = 0.58; // width of an average letter over its size

/** Bars of worlds and environments over the axis of steps. */
export class StagesTrack {
  constructor({ timeline, worlds, environments }) {
    this.rows = [
      timeline.stages.map((span) => ({
        ...span,
        texts: [worlds[span.world].title],
        colour: worlds[span.world].colour,
      })),
      timeline.periods.map((span) => bar(span, environments)).filter(Boolean),
    ];
    this.total = timeline.total;
    this.switches = timeline.switches;
    const words = "The worlds of the stream above, the inferred environments below";
    this.plot = svg("svg", { role: "img", height: HEIGHT, "aria-label": words });
    this.axis = svg("svg", { class: "steps", height: AXIS, "aria-hidden": "true" });
    this.legend = legend(Object.values(worlds));
    this.node = element("div", { class: "track-box stages" }, this.plot, this.axis, this.legend);
  }

  draw(view, width) {
    const { x } = stepScale(view, width);
    const clamp = (value) => Math.max(LEFT, Math.min(width - RIGHT, value));
    const bars = this.rows.flatMap((row, i) =>
      row
        .filter((span) => span.end > view.start && span.start < view.end)
        .map((span) => drawnBar(span, clamp(x(span.start)), clamp(x(span.end)), i * (BAR + 4))),
    );
    const names = ["stream", "inferred"]
      .slice(0, this.rows[1].length ? 2 : 1)
      .map((name, i) =>
        svg("text", { class: "axis", x: LEFT - 6, y: i * (BAR + 4) + BAR / 2 + 4, "text-anchor": "end" }, name),
      );
    const axis = ticks(view.start, view.end, Math.max(3, Math.floor(width / 80)))
      .filter((step) => Number.isInteger(step))
      .map((step) =>
        svg("text", { class: "axis", x: x(step), y: AXIS - 6, "text-anchor": anchor(x(step), width) }, format(step)),
      );
    const unit = svg("text", { class: "axis", x: LEFT - 6, y: AXIS - 6, "text-anchor": "end" }, "step");
    const marks = this.switches
      .filter(({ step }) => step > view.start && step < view.end)
      .map(({ step, is_new: isNew, false_alarm: alarm }) =>
        svg("path", {
          class: `mark${isNew ? "" : " return"}${alarm ? " alarm" : ""}`,
          d: `M${x(step)} ${BAR + 13}l-5 -9h10z`,
        }),
      );
    const whole = stepScale({ start: 0, end: this.total }, width);
    this.legend.hidden = this.rows[0].every((span) => fitting(span.texts, whole.x(span.end) - whole.x(span.start)));
    for (const part of [this.plot, this.axis]) part.setAttribute("width", width);
    this.plot.replaceChildren(...bars, ...names, ...marks);
    this.axis.replaceChildren(unit, ...axis);
  }

  point() {}
}

/** The colours of the worlds, for bars that are too short for their names. */
function legend(worlds) {
  const item = ({ title, colour }) => coloured(element("li", { class: "dot" }, title), colour);
  return element("ul", { class: "legend worlds" }, worlds.map(item));
}

function bar(span, environments) {
  if (span.environment < 0) return { ...span, texts: ["unknown", "?"], colour: "gray" };
  const environment = environments[span.environment];
  const number = String(span.environment);
  return environment && { ...span, texts: [`environment ${number}`, number], colour: environment.colour };
}

/** The first text, in the largest letters, that is shorter than a bar. */
function fitting(texts, width) {
  const tries = texts.flatMap((text) => SIZES.map((size) => ({ text, size })));
  return tries.find(({ text, size }) => text.length * size * LETTER + 10 < width);
}

/** A bar with the longest text that fits. */
function drawnBar({ texts, colour }, left, right, top) {
  const width = Math.max(0, right - left - 1);
  const found = fitting(texts, width);
  const label =
    found && svg("text", { x: (left + right) / 2, y: top + BAR / 2 + 4.5, "text-anchor": "middle" }, found.text);
  if (label) label.style.fontSize = `${found.size}px`;
  const box = svg("rect", { x: left, y: top, width, height: BAR, rx: 3 }, svg("title", {}, texts[0]));
  return coloured(svg("g", { class: "bar" }, box, label), colour);
}

function anchor(x, width) {
  return x > width - RIGHT - 20 ? "end" : x < LEFT + 20 ? "start" : "middle";
}
