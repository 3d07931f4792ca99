// The explorer: the report of a run on its full model, and more questions to it.

import { attempt, get } from "vase/asking.js";
import { compare, nameOf } from "vase/compare.js";
import { element } from "vase/elements.js";
import { latentTools } from "vase/latent-tools.js";
import { origin } from "vase/origin.js";
import { ownPictures } from "vase/own-pictures.js";
import { report, shown } from "vase/report.js";
import { ServerPainter } from "vase/server-painter.js";
import { twoImages } from "vase/two-images.js";

await attempt(async () => {
  const choices = await get("models");
  const wanted = decodeURIComponent(location.hash.slice(1));
  const mine = choices.find(({ id }) => id === wanted) ?? choices.at(-1);
  fill(await get(`model?id=${encodeURIComponent(mine.id)}`), mine, choices);
});
document.body.removeAttribute("aria-busy");

function fill(data, mine, choices) {
  document.title = `${data.title} · VASE explorer`;
  const painter = data.live && new ServerPainter(mine.id, data.live);
  const panel = report(data, painter);
  document.getElementById("header").prepend(chooser(mine, choices));
  document.getElementById("waiting").remove();
  if (!panel) return;
  latentTools(panel, data, mine.id);
  origin(shown("origin"), data, panel, mine.id);
  const two = twoImages(shown("two"), data, painter, mine.id);
  ownPictures(panel, mine.id, (image) => two.add(image));
  if (choices.length > 1) compare(shown("compare"), data, panel, mine, choices);
}

/** Which checkpoint of which run the page is about. */
function chooser(mine, choices) {
  const select = element("select", { id: "model" });
  select.append(...choices.map((choice) => element("option", { value: choice.id }, nameOf(choice))));
  select.value = mine.id;
  select.addEventListener("change", () => {
    location.hash = encodeURIComponent(select.value);
    location.reload();
  });
  return element("div", { class: "tools models" }, element("label", { for: "model" }, "Run"), select);
}
