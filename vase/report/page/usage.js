// The latent-use map: which environment uses which latent, and which it masks.

import { coloured, element, oneTabStop } from "vase/elements.js";

const WORDS = ["not used", "masked", "used"];

/** Fill the section; `choose(latent)` is called for a latent that is pressed, if there is anything to show. */
export function latentUse(section, { environments, latents }, choose = null) {
  const used = (n) => environments.filter((environment) => environment.states[n] === 2).length;
  const numbers = Array.from({ length: latents.count }, (_, n) => n);
  const shared = numbers.filter((n) => used(n) > 1).length;
  const spare = numbers.filter((n) => used(n) === 0).length;
  const summary = `${shared} shared by several environments, ${spare} of ${latents.count} spare`;
  const map = element("div", { class: "map" }, table(environments, numbers, latents.names, choose));
  oneTabStop(map, "th button")(map.querySelector("th button"));
  section.append(
    element("h2", { id: "usage-title" }, "Who uses which latent"),
    element("p", { class: "note" }, `In this checkpoint: ${summary}.`),
    map,
    legend(),
  );
}

function table(environments, numbers, names, choose) {
  const head = numbers.map((n) => element("th", { scope: "col" }, heading(n, names, choose)));
  const rows = environments.map(({ label, colour, states }, s) => {
    const cells = numbers.map((n) => {
      const words = `latent ${n} in ${label}: ${WORDS[states[n]]}`;
      return element(
        "td",
        { title: words },
        element(
          "span",
          { class: "cell", "data-state": WORDS[states[n]] },
          element("span", { class: "hidden" }, WORDS[states[n]]),
        ),
      );
    });
    return coloured(element("tr", {}, element("th", { scope: "row" }, `${s} ${label}`), cells), colour);
  });
  const caption = element("caption", { class: "hidden" }, "State of each latent in each environment");
  const made = element(
    "table",
    { class: "use" },
    caption,
    element("thead", {}, element("tr", {}, element("td"), head)),
    element("tbody", {}, rows),
  );
  made.style.setProperty("--latents", numbers.length);
  return made;
}

function heading(latent, names, choose) {
  const text = [String(latent), names[latent] ? element("small", {}, names[latent]) : ""];
  if (!choose) return element("span", {}, text);
  return element(
    "button",
    { type: "button", "aria-label": `show latent ${latent}`, click: () => choose(latent) },
    text,
  );
}

function legend() {
  const item = (state, words) => element("li", {}, element("span", { class: "cell", "data-state": state }), words);
  return element(
    "ul",
    { class: "legend" },
    item("used", "used"),
    item("masked", "masked: another environment uses it"),
    item("not used", "not used"),
  );
}
