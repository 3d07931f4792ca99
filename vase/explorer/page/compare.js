// Two models side by side: two runs, or two checkpoints of one run, asked about the same image.

import { ask, attempt, get, Latest } from "vase/asking.js";
import { element } from "vase/elements.js";
import { latentName } from "vase/latents.js";
import { explained } from "vase/origin.js";
import { canvasFor, paint } from "vase/picture.js";
import { ServerPainter } from "vase/server-painter.js";
import { POINTS, traversal } from "vase/strips.js";

/** A checkpoint in words. */
export function nameOf({ run, step }) {
  return `${run}, step ${step.toLocaleString("en")}`;
}

/** Fill the section; it follows the image that is picked in the panel. */
export function compare(section, data, panel, mine, choices) {
  const others = choices.filter(({ id }) => id !== mine.id);
  const select = element("select", { id: "other", change: () => open() });
  select.append(...others.map((choice) => element("option", { value: choice.id }, nameOf(choice))));
  const latent = element("select", { id: "compared-latent", change: () => show() });
  const numbers = Array.from({ length: data.latents.count }, (_, n) => n);
  const text = (n) => `z${n} ${latentName(data.latents, n)}`.trim();
  latent.append(...numbers.map((n) => element("option", { value: n }, text(n))));
  latent.value = data.live.order[0];
  const sides = element("div", { class: "halves" });
  const latest = new Latest();
  section.append(
    element("h2", { id: "compare-title" }, "Compare with another run or checkpoint"),
    element(
      "div",
      { class: "tools" },
      element("span", { class: "field" }, element("label", { for: "other" }, "Compare with"), select),
      element("span", { class: "field" }, element("label", { for: "compared-latent" }, "Latent"), latent),
    ),
    sides,
  );
  let models = [];

  const open = () =>
    attempt(async () => {
      const other = others.find(({ id }) => id === select.value);
      sides.replaceChildren(element("p", { class: "note", role: "status" }, `Opening ${nameOf(other)}…`));
      const theirs = await get(`model?id=${encodeURIComponent(other.id)}`);
      models = [new Side(mine, data), new Side(other, theirs)];
      sides.replaceChildren(...models.map((side) => side.node));
      show();
    });
  const show = () => {
    const { picture } = panel.picked;
    const wanted = Number(latent.value);
    latest.run(async () => {
      for (const side of models) await side.show(picture, wanted);
    });
  };
  panel.section.addEventListener("pick", show);
  open();
}

/** One of the two. */
class Side {
  constructor(choice, { live, environments }) {
    Object.assign(this, { choice, live, environments });
    this.answer = element("div", { class: "answers" });
    this.node = element("div", { class: "side" }, element("h3", {}, nameOf(choice)), this.answer);
    if (!live) {
      this.answer.append(element("p", { class: "note" }, "This learner cannot be asked about images."));
      return;
    }
    this.painter = new ServerPainter(choice.id, live);
    this.strip = canvasFor(live.shape, POINTS);
    this.strip.className = "strip";
    this.strip.setAttribute("role", "img");
    this.heading = element("p", { class: "note" });
    this.node.append(this.heading, this.strip);
  }

  async show(image, latent) {
    if (!this.live) return;
    const found = await (await ask("about", { model: this.choice.id, image })).json();
    this.answer.replaceChildren(...explained(found, this.environments));
    this.strip.hidden = latent >= this.painter.latents;
    this.heading.textContent = this.strip.hidden ? `There is no z${latent} here.` : `z${latent} from end to end`;
    if (this.strip.hidden) return;
    const codes = traversal(found.code, latent, this.live.span);
    const pictures = await this.painter.decode(codes, found.environment);
    pictures.forEach((pixels, i) => paint(this.strip, pixels, this.painter.shape, i));
    this.strip.setAttribute("aria-label", `latent ${latent} from end to end in ${nameOf(this.choice)}`);
  }
}
