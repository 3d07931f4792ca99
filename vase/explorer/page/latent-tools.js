// Tools for the live latents: sort them, name them, export them.

import { ask, attempt, tell } from "vase/asking.js";
import { format } from "vase/chart.js";
import { element } from "vase/elements.js";
import { exportButtons, stripFigure } from "vase/figure.js";
import { latentName } from "vase/latents.js";

const LETTERS = 60;
const FRAMES = 12; // of an animation, one way

/** Add the tools to the panel. */
export function latentTools(panel, { live, latents }, model) {
  const figure = () =>
    stripFigure(
      visible(panel).map(({ latent, canvas }) => ({ text: title(latents, latent), canvas })),
      panel.painter.shape,
    );
  const sort = element("select", { id: "sort", change: () => panel.refresh() });
  const names = { use: "use", kl: "KL", atypicality: "atypicality", number: "number" };
  sort.append(...Object.entries(names).map(([value, text]) => element("option", { value }, text)));
  const buttons = exportButtons("latents", figure, () => ({ model, ...sweep(panel, live.span) }));
  buttons.prepend(element("span", { class: "note" }, "Save as"));
  const tools = element("div", { class: "tools" }, element("label", { for: "sort" }, "Sort by"), sort);
  arrange(panel.section, tools, buttons);
  for (const row of panel.rows) nameable(row, latents, model);
  panel.measure = ({ latent }) => live[sort.value]?.[panel.environment]?.[latent];
  const symbol = { kl: "KL", atypicality: "α" };
  const stats = new Map(panel.rows.map((row) => [row, element("small", { class: "measure" })]));
  for (const [row, node] of stats) row.output.before(node);
  panel.section.addEventListener("shown", () => {
    for (const [row, node] of stats) {
      const value = panel.measure(row);
      node.textContent = value === undefined ? "" : `${symbol[sort.value]} ${format(value)}`;
    }
  });
  panel.place = (row) => {
    if (sort.value === "use") return null;
    return sort.value === "number" ? row.latent : -(panel.measure(row) ?? 0);
  };
  panel.refresh();
}

/** Tools beside the heading; on a phone, where the first slider must be on the first screen, saving comes last. */
function arrange(section, tools, buttons) {
  const heading = section.querySelector("h2");
  const row = element("div", { class: "title-row" });
  heading.replaceWith(row);
  row.append(heading, tools);
  const narrow = matchMedia("(max-width: 860px)");
  const settle = () => (narrow.matches ? section.querySelector(".sliders") : tools).append(buttons);
  narrow.addEventListener("change", settle);
  settle();
}

function visible(panel) {
  const order = [...panel.grid.children, ...panel.rest.children];
  return panel.openRows().sort((a, b) => order.indexOf(a.node) - order.indexOf(b.node));
}

function title(latents, latent) {
  const name = latentName(latents, latent);
  return name ? `z${latent} ${name}` : `z${latent}`;
}

/** The latents in view, each from end to end and back, side by side. */
function sweep(panel, span) {
  const rows = visible(panel);
  const there = Array.from({ length: FRAMES }, (_, i) => -span + (2 * span * i) / (FRAMES - 1));
  const codes = [...there, ...there.slice(1, -1).reverse()].flatMap((value) =>
    rows.map(({ latent }) => {
      const code = Float32Array.from(panel.code);
      code[latent] = value;
      return code;
    }),
  );
  return { codes, environments: panel.environment, tiles: rows.length, columns: Math.ceil(Math.sqrt(rows.length)) };
}

/** A button that lets people name a latent; names are saved with the run. */
function nameable(row, latents, model) {
  const { latent, state, name } = row;
  const button = element("button", { type: "button", class: "rename", "aria-label": `name latent ${latent}` }, "✎");
  state.after(button);
  button.addEventListener("click", () => {
    const field = element("input", { type: "text", maxlength: LETTERS, "aria-label": `name of latent ${latent}` });
    field.value = latents.own[latent] ?? "";
    let finished = false; // taking the field away blurs it, which finishes too
    const finish = async (save) => {
      if (finished) return;
      finished = true;
      field.replaceWith(button);
      button.focus({ preventScroll: true });
      if (!save || field.value.trim() === (latents.own[latent] ?? "")) return;
      const names = { ...latents.own, [latent]: field.value.trim() };
      await attempt(async () => {
        latents.own = (await (await ask("names", { model, names })).json()).names;
        name.textContent = latentName(latents, latent);
        tell("Saved with the run.");
      });
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") finish(false);
    });
    field.addEventListener("blur", () => finish(true));
    button.replaceWith(field);
    field.focus();
  });
}
