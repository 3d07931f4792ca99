// The report of a run: each part fills its section of the document if the run has what it shows.

import { element } from "vase/elements.js";
import { facts } from "vase/facts.js";
import { liveLatents } from "vase/latents.js";
import { sortable } from "vase/tables.js";
import { timeline } from "vase/timeline.js";
import { latentUse } from "vase/usage.js";

/** Fill the document. `painter` draws what the decoder answers; returns the live latents, null if there are none. */
export function report(data, painter) {
  printInLightColours();
  document
    .getElementById("header")
    .append(
      element("p", { class: "subtitle" }, data.subtitle),
      element("h1", {}, heading(data.title)),
      element("p", { class: "summary" }, data.sentences.join(" ")),
    );
  const live = painter && data.environments.length ? liveLatents(shown("live"), data, painter) : null;
  timeline(shown("timeline"), data);
  if (data.environments.length) latentUse(shown("usage"), data, live && ((latent) => live.show(latent)));
  if (data.tables.length) shown("tables").append(...data.tables.map(sortable));
  facts(shown("facts"), data);
  return live;
}

/** A section of the document, which is hidden until something fills it. */
export function shown(id) {
  const section = document.getElementById(id);
  section.hidden = false;
  return section;
}

/** Paper is light. This comes first, so that tracks which are drawn again for the printer find its colours. */
function printInLightColours() {
  addEventListener("beforeprint", () => (document.documentElement.dataset.print = ""));
  addEventListener("afterprint", () => delete document.documentElement.dataset.print);
}

/** A title in which no line begins with an arrow, nor with the number of CIFAR-10. */
function heading(title) {
  return title.replaceAll(" → ", "\u00a0→ ").replaceAll(/-(?=\d)/g, "\u2011");
}
