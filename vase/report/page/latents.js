// The live latents: pick an image, drag a latent, see what the decoder makes of it, in any environment.

import { coloured, element, oneTabStop } from "vase/elements.js";
import { canvasFor } from "vase/picture.js";
import { POINTS, traversal } from "vase/strips.js";

const [UNUSED, MASKED, USED] = [0, 1, 2];
const PAUSE = 120; // milliseconds without a change after which the strips are drawn again
const INVITATION = "Move a slider, and the picture follows.";
const DREAMS = 8;
const SHOWN = 12; // latents that are not behind the fold
const WORDS = { [UNUSED]: "not used", [MASKED]: "masked", [USED]: "used" };

/**
 * Build the panel inside a section. A painter draws what the decoder answers. The section hears the events "pick", of
 * an image, and "shown", of an image or an environment.
 */
export function liveLatents(section, { live, environments, latents }, painter) {
  const panel = new Panel(section, painter, live, environments, latents);
  section.append(
    element("h2", { id: "live-title" }, "Drag a latent"),
    element("p", { class: "note" }, INVITATION),
    element(
      "div",
      { class: "live" },
      element("div", { class: "left" }, panel.stage(), panel.gallery()),
      panel.sliders(),
    ),
  );
  panel.pick(live.images[live.start]);
  return panel;
}

class Panel {
  constructor(section, painter, live, environments, latents) {
    Object.assign(this, { section, painter, live, environments, latents });
    this.code = new Float32Array(painter.latents);
    this.environment = 0;
    this.picked = null;
    this.big = canvasFor(painter.shape);
    this.big.className = "answer";
    this.big.setAttribute("role", "img");
    this.original = element("img", { alt: "the image that was picked", class: "original" });
    this.rows = live.order.map((latent) => this.row(latent));
    this.thumbs = new Map();
  }

  // ------------------------------------------------------------------ parts

  /** The answer of the decoder, and the environments it can be asked in. */
  stage() {
    this.caption = element("figcaption", {}, "decoded");
    this.source = element("figure", { class: "source" }, this.original, element("figcaption", {}, "image"));
    const buttons = element(
      "div",
      { class: "buttons" },
      button("Put back", "the code of the image again", () => this.reset()),
      button("Dream", "images that the learner makes up in this environment", () => this.dream()),
    );
    return element(
      "div",
      { class: "stage" },
      element("figure", { class: "decoded" }, this.big, this.caption),
      buttons,
      this.source,
      this.chooser(),
    );
  }

  /** One choice per environment, each with the same code decoded in it. */
  chooser() {
    this.views = this.environments.map((environment, s) => {
      const canvas = canvasFor(this.painter.shape);
      canvas.setAttribute("aria-hidden", "true");
      const radio = element("input", { type: "radio", name: "environment", value: s, change: () => this.enter(s) });
      const label = element(
        "label",
        { class: "choice" },
        radio,
        canvas,
        element("span", {}, `${s} ${environment.label}`),
      );
      coloured(label, environment.colour);
      return { canvas, radio, label };
    });
    const legend = element("legend", {}, "Decode as");
    return element(
      "fieldset",
      { class: "chooser" },
      legend,
      this.views.map((view) => view.label),
    );
  }

  /** A few sliders, and the others behind a fold. */
  sliders() {
    this.grid = element("div", { class: "grid" });
    this.rest = element("div", { class: "grid" });
    const more = element("summary", {}, `${this.rows.length - SHOWN} more latents`);
    this.fold = element("details", { class: "more", toggle: () => this.drawStrips() }, more, this.rest);
    this.fold.hidden = this.rows.length <= SHOWN;
    return element("div", { class: "sliders" }, this.grid, this.fold);
  }

  row(latent) {
    const { span } = this.live;
    const id = `z${latent}`;
    const canvas = canvasFor(this.painter.shape, POINTS);
    canvas.className = "strip";
    canvas.setAttribute("aria-hidden", "true");
    const output = element("output", { for: id });
    const slider = element("input", {
      ...{ type: "range", id, min: -span, max: span, step: 0.05 },
      input: () => this.set(latent, Number(slider.value)),
    });
    const scrub = (event) => {
      if (!(event.buttons & 1) || slider.disabled) return;
      const { left, width } = canvas.getBoundingClientRect();
      const place = ((event.clientX - left) / width) * POINTS - 0.5; // 0 is the middle of the first frame
      this.set(latent, Math.max(-span, Math.min(span, -span + (2 * span * place) / (POINTS - 1))));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    canvas.addEventListener("pointermove", scrub);
    const name = element("small", {}, latentName(this.latents, latent));
    const label = element("label", { for: id }, id, name);
    const state = element("small", { class: "state" });
    const track = element("div", { class: "track" }, canvas, slider);
    const node = element("div", { class: "latent" }, element("div", { class: "name" }, label, state, output), track);
    return { latent, node, canvas, slider, output, state, label, name };
  }

  /** Images of every environment, and dreams. */
  gallery() {
    const groups = this.environments.map((environment, s) => {
      const images = this.live.images.filter((image) => image.environment === s);
      const thumbs = images.map((image, i) => this.thumb(image, `image ${i + 1} of ${environment.label}`));
      return images.length ? this.group(`${s} ${environment.label}`, environment.colour, thumbs) : null;
    });
    this.dreams = element("div", { class: "thumbs" });
    this.dreamGroup = element("div", { class: "group", hidden: true }, element("h3", {}, "Dreams"), this.dreams);
    const box = element(
      "div",
      { class: "gallery", role: "group", "aria-label": "Images to start from" },
      this.dreamGroup,
      groups,
    );
    this.stopAt = oneTabStop(box, ".thumbs button");
    return box;
  }

  group(title, colour, thumbs) {
    const heading = coloured(element("h3", { class: "dot" }, title), colour);
    return element("div", { class: "group" }, heading, element("div", { class: "thumbs" }, thumbs));
  }

  thumb(image, label) {
    const picture = element("img", { src: image.picture, alt: "" });
    const button = element("button", { type: "button", "aria-label": label, "aria-pressed": "false" }, picture);
    button.addEventListener("click", () => this.pick(image));
    this.thumbs.set(image, button);
    return button;
  }

  // ------------------------------------------------------------------ acts

  /** Start from an image (or a dream) and its environment. */
  pick(image) {
    this.picked = image;
    for (const [other, button] of this.thumbs) button.setAttribute("aria-pressed", String(other === image));
    this.original.src = image.picture;
    this.source.lastChild.textContent = image.dreamt ? "dream" : "image";
    const thumb = this.thumbs.get(image);
    this.stopAt(thumb);
    reveal(thumb, thumb.closest(".gallery"));
    this.environment = image.environment;
    this.reset();
    this.tell("pick");
  }

  tell(event) {
    this.section.dispatchEvent(new CustomEvent(event));
  }

  /** Add images to start from as a group of the gallery, above those of the run. */
  add(images, group) {
    group.append(...images.map((image) => this.thumb(image, image.label)));
  }

  /** The code of the picked image again. */
  reset() {
    this.code.set(this.picked.code);
    this.refresh();
  }

  /** Decode the same code in another environment. */
  enter(environment) {
    this.environment = environment;
    this.refresh();
  }

  /** Move one latent. */
  set(latent, value) {
    this.code[latent] = value;
    const row = this.rows.find((one) => one.latent === latent);
    this.showValue(row);
    this.queue();
  }

  /** Codes from the prior, decoded in the current environment; each can be picked. */
  async dream() {
    const environment = this.environment;
    const codes = Array.from({ length: DREAMS }, () => Array.from({ length: this.painter.latents }, normal));
    const pictures = await this.painter.pictures(codes, environment);
    for (const image of [...this.thumbs.keys()]) if (image.dreamt) this.thumbs.delete(image);
    const { label } = this.environments[environment];
    const images = codes.map((code, i) => ({ environment, picture: pictures[i], code, dreamt: true }));
    this.dreams.replaceChildren(...images.map((image, i) => this.thumb(image, `dream ${i + 1} of ${label}`)));
    this.dreamGroup.firstChild.textContent = `Dreams of ${label}`;
    this.dreamGroup.hidden = false;
    this.pick(images[0]);
  }

  /** Bring the slider of a latent into view. */
  show(latent) {
    const row = this.rows.find((one) => one.latent === latent);
    if (this.rest.contains(row.node)) this.fold.open = true;
    row.node.scrollIntoView({ block: "center" });
    row.slider.focus({ preventScroll: true });
  }

  // ------------------------------------------------------------------ drawing

  refresh() {
    const { radio, label: choice } = this.views[this.environment];
    radio.checked = true;
    reveal(choice, choice.closest(".chooser"));
    const { states, colour, label } = this.environments[this.environment];
    this.caption.textContent = `decoded as ${label}`;
    for (const row of this.rows) {
      const state = states[row.latent];
      const seen = this.painter.seen[this.environment][row.latent];
      coloured(row.node, colour);
      row.node.dataset.state = WORDS[state];
      row.node.classList.toggle("unseen", !seen || state === MASKED);
      row.state.textContent = state === USED ? "" : WORDS[state];
      row.slider.disabled = !seen;
      this.showValue(row);
    }
    this.arrange();
    this.queue();
    this.tell("shown");
  }

  /** Latents that the environment uses come first, then those that it masks; `place(row)` sorts otherwise. */
  arrange() {
    const rank = ({ node }) => [WORDS[USED], WORDS[MASKED], WORDS[UNUSED]].indexOf(node.dataset.state);
    const place = (row) => this.place?.(row) ?? rank(row);
    const nodes = [...this.rows].sort((a, b) => place(a) - place(b)).map((row) => row.node);
    const before = [...this.grid.children, ...this.rest.children];
    if (nodes.every((node, i) => node === before[i])) return;
    this.grid.replaceChildren(...nodes.slice(0, SHOWN));
    this.rest.replaceChildren(...nodes.slice(SHOWN));
  }

  showValue(row) {
    const value = this.code[row.latent];
    row.slider.value = value;
    const text = value.toFixed(2).replace("-", "−");
    row.output.textContent = text;
    row.slider.setAttribute("aria-valuetext", `${text}, ${row.node.dataset.state}`);
  }

  /** Decode with the next frame, however often the code changes until then; strips follow after a pause. */
  queue() {
    if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = null;
        this.answer();
      });
    }
    this.painter.stop();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.drawStrips(), PAUSE);
  }

  answer() {
    const { environment } = this;
    const canvases = this.views.map((view) => view.canvas);
    this.painter.answer(this.code, environment, canvases, () => {
      this.big.getContext("2d").drawImage(canvases[environment], 0, 0);
      this.big.setAttribute("aria-label", `the code decoded as ${this.environments[environment].label}`);
      document.dispatchEvent(new CustomEvent("decoded"));
    });
  }

  /** The code in every environment, then the strips of the latents in view. */
  drawStrips() {
    const { code, environment } = this;
    const views = this.views.map(({ canvas }, s) => ({ codes: [code], environment: s, canvas }));
    const strips = this.openRows().map(({ latent, canvas }) => ({
      codes: traversal(code, latent, this.live.span),
      environment,
      canvas,
    }));
    this.painter.strips([...views, ...strips]);
  }

  /** The rows that are not behind the fold. */
  openRows() {
    return this.rows.filter((row) => this.fold.open || this.grid.contains(row.node));
  }
}

/** Scroll a row, and nothing else, so that a node in it is in view: on a phone rows are shorter than their content. */
function reveal(node, row) {
  const [inner, outer] = [node, row].map((one) => one.getBoundingClientRect());
  if (inner.left < outer.left || inner.right > outer.right)
    row.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
}

function button(text, title, act) {
  return element("button", { type: "button", title, click: act }, text);
}

/** What people call a latent: the name they gave it, or the axis it follows. */
export function latentName({ names, own }, latent) {
  return own[latent] ?? (names[latent] ? `${names[latent]} position` : "");
}

/** A sample of the standard normal distribution (Box and Muller). */
function normal() {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}
