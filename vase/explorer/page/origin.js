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

/** Whether the learner takes an image for one of an environment that it knows. */
export function fits({ verdict: words }) {
  return /^environment \d+$/.test(words);
}

/** An environment in bold, in its colour. */
export function named(s, environments) {
  const { label, colour } = environments[s];
  return coloured(element("b", { class: "dot" }, `${s} ${label}`), colour);
}

/** The verdict as a sentence. */
export function verdict(found, environments) {
  const words = fits(found) ? "It fits " : "It fits no environment that the learner knows; the nearest is ";
  return [words, named(found.environment, environments)];
}

/** The image in each environment, with how probable and how far that environment is. */
function outcomes(found, environments) {
  const { posterior, effects, p_values: chances, as } = found;
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
  cards.push(card(NEW.label, NEW.colour, none, [["posterior", percent(posterior.at(-1))]]));
  cards.at(fits(found) ? found.environment : -1).classList.add("chosen");
  return cards;
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
