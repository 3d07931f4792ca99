// The timeline: tracks that share one view of the steps and one cursor, which a finger, a mouse or keys can move.

import { element, onWidth } from "vase/elements.js";
import { stepScale } from "vase/chart.js";
import { HeatTrack } from "vase/heatmap.js";
import { LineTrack } from "vase/lines.js";
import { card, Moment } from "vase/moment.js";
import { StagesTrack } from "vase/stages.js";

const LOSSES = [
  { title: "Reconstruction error above its minimum", names: { deviance: "nats per image" }, log: true },
  { title: "Loss", names: { loss: "of each batch" }, log: true, insteadOf: "deviance" },
  { title: "KL divergence and its target", names: { kl: "KL", capacity: "target C" } },
  { title: "Distance from the environment", names: { effect: "standard deviations" } },
];
const CURVES = ["#0072B2", "#D55E00"];

/** Build the timeline inside a section. */
export function timeline(section, data) {
  const made = new Timeline(data);
  const cards = data.timeline.switches.map((change) => card(change, data.environments));
  section.append(
    element("div", { class: "title-row" }, element("h2", { id: "timeline-title" }, "Timeline"), made.toolbar()),
    element("div", { class: "timeline" }, made.panel()),
    element("div", { class: "cards" }, cards),
  );
  made.listen();
  made.moveTo(data.timeline.switches[0]?.step ?? data.timeline.total);
  return made;
}

class Timeline {
  constructor(data) {
    this.total = data.timeline.total;
    this.closing = new AbortController();
    this.view = { start: 0, end: this.total };
    this.tracks = tracks(data);
    this.moment = new Moment(data, (step) => this.moveTo(step));
    this.line = element("div", { class: "cursor", "aria-hidden": "true" });
    this.slider = element("input", {
      ...{ type: "range", class: "scrub", min: 0, max: this.total, step: 1 },
      "aria-label": "Step",
      input: () => this.moveTo(Number(this.slider.value)),
    });
  }

  toolbar() {
    const button = (text, label, act) => element("button", { type: "button", "aria-label": label, click: act }, text);
    return element(
      "div",
      { class: "buttons", role: "group", "aria-label": "Zoom" },
      button("+", "Zoom in", () => this.zoom(0.5)),
      button("−", "Zoom out", () => this.zoom(2)),
      button("All", "Show the whole run", () => this.look(0, this.total)),
    );
  }

  panel() {
    this.box = element(
      "div",
      { class: "tracks" },
      this.tracks.map((track) => track.node),
      this.line,
    );
    const box = element("div", { class: "panel" }, this.slider, this.box);
    onWidth(this.box, (width) => {
      this.width = width;
      this.draw();
    });
    return box;
  }

  listen() {
    const beside = (event) => this.moment.node.contains(event.target);
    const scrub = (event) => {
      if (event.buttons & 1 && !beside(event)) this.moveTo(stepScale(this.view, this.width).step(this.place(event)));
    };
    this.box.addEventListener("pointerdown", (event) => {
      if (beside(event)) return;
      this.box.setPointerCapture(event.pointerId);
      scrub(event);
    });
    this.box.addEventListener("pointermove", scrub);
    this.box.addEventListener("dblclick", (event) => beside(event) || this.zoom(0.5));
    this.box.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, stepScale(this.view, this.width).step(this.place(event)));
      },
      { passive: false },
    );
    this.slider.addEventListener("keydown", (event) => {
      const act = {
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        0: () => this.look(0, this.total),
      }[event.key];
      if (act) act();
    });
    const until = { signal: this.closing.signal };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), until);
    for (const event of ["beforeprint", "afterprint"]) addEventListener(event, () => this.draw(), until);
    const narrow = matchMedia("(max-width: 860px)");
    narrow.addEventListener("change", () => this.settle(narrow.matches), until);
    this.settle(narrow.matches);
  }

  /** Put what is known of the step beside the tracks; on a phone below the first one, in view while one scrubs. */
  settle(narrow) {
    if (narrow) this.tracks[0].node.after(this.moment.node);
    else this.box.closest(".timeline").append(this.moment.node);
  }

  /** Listen no more to the window, before another timeline takes its place. */
  close() {
    this.closing.abort();
  }

  place(event) {
    return event.clientX - this.box.getBoundingClientRect().left;
  }

  /** Put the cursor on a step; the view follows if it must. */
  moveTo(step) {
    this.cursor = Math.round(Math.max(0, Math.min(this.total, step)));
    const { start, end } = this.view;
    if (this.cursor < start || this.cursor > end) {
      const half = (end - start) / 2;
      this.look(this.cursor - half, this.cursor + half);
    }
    this.slider.value = this.cursor;
    this.slider.setAttribute("aria-valuetext", `step ${this.cursor}`);
    this.moment.show(this.cursor);
    this.point();
  }

  /** Show `factor` times as many steps around a step, which stays where it is. */
  zoom(factor, around = this.cursor) {
    const { start, end } = this.view;
    const size = Math.max(20, Math.min(this.total, (end - start) * factor));
    const left = around - ((around - start) / (end - start)) * size;
    this.look(left, left + size);
  }

  /** Show the steps from `start` to `end`. */
  look(start, end) {
    const size = Math.min(this.total, end - start);
    const left = Math.max(0, Math.min(this.total - size, start));
    this.view = { start: left, end: left + size };
    this.draw();
  }

  draw() {
    if (!this.width) return;
    for (const track of this.tracks) track.draw(this.view, this.width);
    this.point();
  }

  point() {
    for (const track of this.tracks) track.point(this.cursor);
    if (!this.width) return;
    const { start, end } = this.view;
    this.line.hidden = this.cursor < start || this.cursor > end;
    this.line.style.transform = `translateX(${stepScale(this.view, this.width).x(this.cursor)}px)`;
  }
}

/** The tracks for which the run has rows. */
function tracks(data) {
  const { timeline: rows, worlds } = data;
  const switches = rows.stages.slice(1).map((stage) => stage.start);
  const wanted = LOSSES.filter(({ insteadOf }) => !rows.losses[insteadOf]);
  const losses = wanted.flatMap(({ title, names, log }) => {
    const curves = Object.entries(names)
      .filter(([name]) => rows.losses[name])
      .map(([name, label], i) => ({
        label,
        colour: CURVES[i],
        steps: rows.steps,
        values: rows.losses[name],
        dashed: i > 0,
      }));
    return curves.length ? [new LineTrack({ title, curves, log, switches })] : [];
  });
  const probes = rows.probes.map(({ title, unit, curves }) => {
    const lines = curves.map(({ world, steps, values }) => ({
      label: worlds[world]?.title ?? world,
      colour: worlds[world]?.colour ?? "gray",
      steps,
      values,
      dots: steps.length < 40,
    }));
    return new LineTrack({ title, unit, curves: lines, switches });
  });
  const heat = rows.atypicality.length ? new HeatTrack(data) : null;
  return [new StagesTrack(data), heat, losses[0], ...probes, ...losses.slice(1)].filter(Boolean);
}
