// Where an image seems to come from, and why; and the image decoded as every environment, side by side.

import { ask, Latest } from "vase/asking.js";
import { NEW, percent } from "vase/bars.js";
import { format } from "vase/chart.js";
import { coloured, element } from "vase/elements.js";

/** Fill the section; it follows the image that is picked in the panel. */
export function origin(section, { environments }, panel, model) {
  const latest = new Latest();
  const image = element("img", { alt: "the image that was picked", class: "asked" });
  const answer = element("div", { class: "answers" }, element("p", { class: "note" }, "Asking the learner…"));
  section.append(
    element("h2", { id: "origin-title" }, "Where does it come from?"),
    element(
      "div",
      { class: "origin" },
      element("figure", {}, image, element("figcaption", {}, "the image you picked")),
      answer,
    ),
  );
  const show = () => {
    const { picked } = panel;
    latest.run(async () => {
      const found = await (await ask("about", { model, image: picked.picture })).json();
      image.src = picked.picture;
      answer.replaceChildren(...explained(found, environments));
    });
  };
  panel.section.addEventListener("pick", show);
  show();
}

/** A verdict, a card for every environment, and the reasons. */
export function explained(found, environments) {
  const reasons = found.reasons.map((reason) => element("li", {}, reason));
  return [
    element("p", { class: "verdict" }, verdict(found, environments)),
    element("div", { class: "outcomes" }, outcomes(found, environments)),
    element("ul", { class: "reasons" }, reasons),
  ];
}

/** The verdict as a sentence. */
export function verdict({ verdict: words, environment: s }, environments) {
  const known = /^environment \d+$/.test(words);
  const { label, colour } = environments[s];
  return [
    known ? "It fits " : "It fits no environment that the learner knows; the nearest is ",
    coloured(element("b", { class: "dot" }, `${s} ${label}`), colour),
  ];
}

/** The image in each environment, with how probable and how far that environment is. */
function outcomes({ posterior, effects, p_values: chances, as }, environments) {
  const cards = as.map(({ picture, error }, s) => {
    const { label, colour } = environments[s];
    const lines = [
      ["posterior", percent(posterior[s])],
      ["distance", effects[s] === null ? "–" : `${format(effects[s])} σ`],
      ["p-value", chances[s] < 0.0001 ? "< 0.0001" : format(chances[s])],
      ["error", format(error)],
    ];
    return card(`${s} ${label}`, colour, element("img", { src: picture, alt: `decoded as ${label}` }), lines);
  });
  const none = element("div", { class: "unknown", "aria-hidden": "true" }, "?");
  return [...cards, card(NEW.label, NEW.colour, none, [["posterior", percent(posterior.at(-1))]])];
}

function card(title, colour, picture, lines) {
  const list = lines.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  const node = element(
    "div",
    { class: "outcome" },
    element("h3", { class: "dot" }, title),
    picture,
    element("dl", {}, list),
  );
  return coloured(node, colour);
}
