// What is known of one step of the run: world, environment, masked latents, and the switch that led there.

import { coloured, element } from "vase/elements.js";
import { indexAfter } from "vase/chart.js";

/** The panel beside the tracks. `go(step)` moves the cursor. */
export class Moment {
  constructor(data, go) {
    Object.assign(this, { data, go });
    this.title = element("h3");
    this.lines = element("dl");
    this.card = element("div");
    const { switches } = data.timeline;
    const step = (direction) => () => this.jump(direction);
    const buttons = element(
      "div",
      { class: "buttons" },
      element("button", { type: "button", click: step(-1) }, "← switch"),
      element("button", { type: "button", click: step(1) }, "switch →"),
    );
    this.node = element(
      "div",
      { class: "moment" },
      this.title,
      this.lines,
      switches.length ? buttons : null,
      this.card,
    );
  }

  show(step) {
    const { timeline, worlds, environments, latents } = this.data;
    this.step = step;
    this.title.textContent = `Step ${Math.round(step).toLocaleString("en")}`;
    const now = (spans) => [...spans].reverse().find((span) => span.start <= step);
    const [stage, period] = [now(timeline.stages), now(timeline.periods)];
    const masked = timeline.masked[indexAfter(timeline.steps, step)] ?? [];
    const lines = [];
    if (stage) lines.push(["world", dot(worlds[stage.world].title, worlds[stage.world].colour)]);
    if (period && environments[period.environment]) {
      lines.push(["environment", dot(String(period.environment), environments[period.environment].colour)]);
      if (latents.count) lines.push(["masked", masked.map((n) => `z${n}`).join(", ") || "none"]);
    }
    this.lines.replaceChildren(
      ...lines.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    );
    const last = [...timeline.switches].reverse().find((change) => change.step <= step);
    if (last !== this.last || !this.card.hasChildNodes())
      this.card.replaceChildren(last ? card(last, environments) : first(timeline));
    this.last = last;
  }

  /** Go to the next switch, or to the one before. */
  jump(direction) {
    const steps = this.data.timeline.switches.map((change) => change.step);
    const found =
      direction > 0 ? steps.find((step) => step > this.step) : [...steps].reverse().find((step) => step < this.step);
    if (found !== undefined) this.go(found);
  }
}

function dot(text, colour) {
  return coloured(element("span", { class: "dot" }, text), colour);
}

function first({ switches }) {
  return element("p", { class: "note" }, switches.length ? "Before the first switch." : "No switch was announced.");
}

/** A switch: images before and after, what changed, and why the learner announced it. */
export function card(change, environments) {
  const known = change.is_new ? "a new environment" : "a known environment";
  const when = change.false_alarm
    ? "a false alarm: the world had not changed"
    : change.delay !== null && `${change.delay} batches after the world changed`;
  const name = (s) => (s < 0 ? "unknown" : s);
  const what = [`${name(change.from)} → ${name(change.environment)}`, change.environment < 0 || known, when];
  const pictures = (images, s, label) => {
    const tiles = images.map((image) => element("img", { src: image, alt: "" }));
    const group = element("div", { class: "tiles", role: "img", "aria-label": `images ${label} the switch` }, tiles);
    return coloured(element("figure", {}, element("figcaption", {}, label), group), environments[s]?.colour ?? "gray");
  };
  return element(
    "div",
    { class: "card" },
    element("h4", {}, `Switch at step ${change.step.toLocaleString("en")}`),
    element("p", {}, `${what.filter((part) => typeof part === "string").join(", ")}.`),
    change.before.length
      ? element(
          "div",
          { class: "pair" },
          pictures(change.before, change.from, "before"),
          pictures(change.after, change.environment, "after"),
        )
      : null,
    change.sentence ? element("p", {}, sentence(change.sentence)) : null,
    element(
      "ul",
      { class: "reasons" },
      change.reasons.map((reason) => element("li", {}, reason)),
    ),
  );
}

/** Words as a sentence. */
export function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}
