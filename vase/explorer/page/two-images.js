// Two images: mixed pixel by pixel, which makes them ambiguous, and code by code, which does not.

import { ask, attempt, Latest } from "vase/asking.js";
import { NEW, StackedBar } from "vase/bars.js";
import { coloured, element, oneTabStop } from "vase/elements.js";
import { exportButtons, stripFigure } from "vase/figure.js";
import { fits, named, verdict } from "vase/origin.js";
import { canvasFor, paint } from "vase/picture.js";
import { POINTS } from "vase/strips.js";

const CONTEXT = 16; // images, unless the slider says otherwise

/** Fill the section. */
export function twoImages(section, data, painter, model) {
  return new TwoImages(section, data, painter, model);
}

class TwoImages {
  constructor(section, { live, environments }, painter, model) {
    Object.assign(this, { environments, painter, model });
    this.mixing = new Latest();
    this.moving = new Latest();
    this.known = [...new Set(live.images.map((image) => image.environment))];
    this.turn = 0; // the slot that the next picked image goes to
    this.thumbs = element("div", { class: "thumbs" });
    this.stopAt = oneTabStop(this.thumbs, "button");
    this.images = [];
    this.slots = ["A", "B"].map((name, i) => this.slot(name, i));
    this.share = element("input", {
      ...{ type: "range", min: 0, max: 1, step: 0.01, value: 0.5, "aria-label": "From image A to image B" },
      input: () => this.show(),
    });
    section.append(
      element("h2", { id: "two-title" }, "Two images"),
      element("div", { class: "two-images" }, this.slots[0].node, this.share, this.slots[1].node),
      element("p", { class: "note" }, "Pick images for A and B; the marked one is next."),
      element("div", { class: "picker", role: "group", "aria-label": "Images for A and B" }, this.thumbs),
      element("div", { class: "halves" }, this.pixels(), this.codes()),
    );
    for (const [i, image] of live.images.entries()) this.add({ ...image, label: this.label(image, i, live.images) });
    const first = live.images.findIndex((image) => image.environment === this.known[0]);
    const last = live.images.findLastIndex((image) => image.environment === this.known.at(-1));
    this.put(0, this.images[first]);
    this.put(1, this.images[last]);
    this.activate(0);
    this.show();
    this.drawStrip();
  }

  label({ environment }, i, images) {
    const number = images.slice(0, i + 1).filter((image) => image.environment === environment).length;
    return `image ${number} of ${this.environments[environment].label}`;
  }

  // ------------------------------------------------------------------ parts

  slot(name, i) {
    const image = element("img", { alt: "" });
    const button = element("button", { type: "button", "aria-pressed": "false", click: () => this.activate(i) }, image);
    const caption = element("span", {}, name);
    return { name, image, button, node: element("div", { class: "slot" }, button, caption) };
  }

  pixels() {
    this.blend = element("img", { alt: "the two images mixed", class: "asked" });
    this.decoded = this.environments.map(({ label, colour }, s) => {
      const image = element("img", { alt: `the mixture decoded as ${label}` });
      return {
        image,
        node: coloured(element("figure", {}, image, element("figcaption", { class: "dot" }, `${s} ${label}`)), colour),
      };
    });
    return element(
      "div",
      {},
      element("h3", {}, "Mix the pixels"),
      element("p", { class: "note" }, "A mixture is ambiguous. The learner decides; its classifier only guesses."),
      element("div", { class: "mixture" }, this.blend, this.decision(), this.guesses()),
      element("p", { class: "note" }, "The mixture decoded as each environment"),
      element(
        "div",
        { class: "decoded-as" },
        this.decoded.map(({ node }) => node),
      ),
    );
  }

  /** What the learner takes the mixture for, with the probabilities that this follows from. */
  decision() {
    this.verdict = element("p", { class: "verdict" });
    this.posterior = new StackedBar([...this.environments, NEW]);
    return element(
      "div",
      { class: "decision" },
      element("h4", {}, "What the learner decides"),
      this.verdict,
      element("div", { class: "bars" }, line("posterior", this.posterior)),
      element("p", { class: "note" }, "From its tests of the images, as in “Where does it come from?”"),
    );
  }

  /** What the classifier takes it for, alone and among other images; it knows no new environments, nor decides. */
  guesses() {
    this.alone = new StackedBar(this.environments);
    this.among = new Map(this.known.map((s) => [s, new StackedBar(this.environments)]));
    this.guess = element("p", { class: "verdict" });
    this.count = element("input", {
      ...{ type: "range", min: 1, max: 32, step: 1, value: CONTEXT, id: "context" },
      input: () => this.show(),
    });
    this.counted = element("output", { for: "context" });
    const lines = [...this.among].map(([s, bar]) => line(`among ${this.environments[s].label}`, bar));
    return element(
      "div",
      { class: "guesses" },
      element("h4", {}, "What its classifier q(s|x) guesses"),
      this.guess,
      element(
        "div",
        { class: "bars" },
        line("alone", this.alone),
        lines.flat(),
        element("label", { for: "context" }, "images of context"),
        element("div", { class: "with-value" }, this.count, this.counted),
      ),
    );
  }

  codes() {
    this.place = element("select", { id: "two-environment", change: () => this.show(true) });
    this.place.append(...this.environments.map(({ label }, s) => element("option", { value: s }, `${s} ${label}`)));
    this.between = canvasFor(this.painter.shape);
    this.between.className = "asked";
    this.between.setAttribute("role", "img");
    this.between.setAttribute("aria-label", "the code between A and B, decoded");
    this.strip = canvasFor(this.painter.shape, POINTS);
    this.strip.className = "strip";
    this.strip.setAttribute("aria-hidden", "true");
    const figure = () => stripFigure([{ text: "A → B", canvas: this.strip }], this.painter.shape);
    const buttons = exportButtons("interpolation", figure, () => this.animation());
    return element(
      "div",
      {},
      element("h3", {}, "Interpolate the codes"),
      element("p", { class: "note" }, "The code moves in a straight line, and the decoder follows it."),
      element(
        "div",
        { class: "between" },
        this.between,
        element(
          "div",
          {},
          element("label", { for: "two-environment" }, "decode as"),
          this.place,
          element("p", { class: "note" }, "Export the way from A to B"),
          buttons,
        ),
      ),
      this.strip,
    );
  }

  // ------------------------------------------------------------------ acts

  /** Add an image to choose from. */
  add(image) {
    this.images.push(image);
    const label = `${image.label}, for the slot that is marked`;
    const choose = () => {
      this.put(this.turn, image);
      this.activate(1 - this.turn);
      this.show(true);
    };
    const picture = element("img", { src: image.picture, alt: "" });
    this.thumbs.append(element("button", { type: "button", "aria-label": label, click: choose }, picture));
    this.stopAt(this.thumbs.firstChild);
  }

  put(i, image) {
    const { name, image: picture, button } = this.slots[i];
    this.slots[i].chosen = image;
    picture.src = image.picture;
    button.setAttribute("aria-label", `image ${name}: ${image.label}. Press to choose another one`);
    if (i === 0) this.place.value = image.environment;
  }

  /** The slot that the next image goes to. */
  activate(i) {
    this.turn = i;
    this.slots.forEach(({ button }, j) => button.setAttribute("aria-pressed", String(i === j)));
  }

  code(share) {
    const [a, b] = this.slots.map(({ chosen }) => chosen.code);
    return a.map((value, n) => (1 - share) * value + share * b[n]);
  }

  show(images = false) {
    const share = Number(this.share.value);
    const [first, second] = this.slots.map(({ chosen }) => chosen.picture);
    const question = { model: this.model, first, second, share, context: Number(this.count.value) };
    this.share.setAttribute("aria-valuetext", `${Math.round(100 * share)} % of image B`);
    this.counted.textContent = this.count.value;
    this.mixing.run(async () => this.showMixture(await (await ask("mix", question)).json()));
    this.moving.run(async () => {
      const [pixels] = await this.painter.decode([this.code(share)], Number(this.place.value));
      paint(this.between, pixels, this.painter.shape);
    });
    if (images) this.drawStrip();
  }

  showMixture(found) {
    const { picture, posterior, probabilities, among, as } = found;
    this.blend.src = picture;
    this.verdict.replaceChildren(...verdict(found, this.environments));
    this.posterior.show(posterior);
    this.alone.show(probabilities);
    this.guess.replaceChildren(...this.guessed(found));
    for (const [s, bar] of this.among) if (among[s]) bar.show(among[s]);
    this.decoded.forEach(({ image }, s) => (image.src = as[s].picture));
  }

  /** The classifier's guess as a sentence, and whether the learner decides the same. */
  guessed(found) {
    const best = found.probabilities.indexOf(Math.max(...found.probabilities));
    const agreed = best === found.environment ? "; they agree" : "; they disagree";
    return ["Alone: ", named(best, this.environments), fits(found) ? agreed : "; it cannot say “new”"];
  }

  drawStrip() {
    const codes = Array.from({ length: POINTS }, (_, i) => this.code(i / (POINTS - 1)));
    attempt(async () => {
      const pictures = await this.painter.decode(codes, Number(this.place.value));
      pictures.forEach((pixels, i) => paint(this.strip, pixels, this.painter.shape, i));
    });
  }

  /** From A to B and back. */
  animation() {
    const there = Array.from({ length: 16 }, (_, i) => this.code(i / 15));
    const codes = [...there, ...there.slice(1, -1).reverse()];
    return { model: this.model, codes, environments: Number(this.place.value), tiles: 1, columns: 1 };
  }
}

/** A bar and what it is of. */
function line(text, bar) {
  return [element("span", {}, text), bar.node];
}
