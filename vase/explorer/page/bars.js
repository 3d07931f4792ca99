// Probabilities of environments, as bars in their colours.

import { coloured, element } from "vase/elements.js";

export const NEW = { label: "a new environment", colour: "#888888" };

/** A probability as people read it. */
export function percent(value) {
  if (value > 0 && value < 0.001) return "< 0.1 %";
  if (value < 1 && value > 0.999) return "> 99.9 %";
  return `${(100 * value).toFixed(value === 0 || value === 1 ? 0 : 1)} %`;
}

/** One bar whose parts are the probabilities of several environments. */
export class StackedBar {
  constructor(environments) {
    this.environments = environments;
    const part = () => element("span", { class: "part" }, element("span")); // the style hides words that do not fit
    this.parts = environments.map(({ colour }) => coloured(part(), colour));
    this.node = element("div", { class: "stacked", role: "img" }, this.parts);
  }

  show(probabilities) {
    const words = probabilities.map((p, s) => `${this.environments[s].label} ${percent(p)}`);
    this.node.setAttribute("aria-label", words.join(", "));
    this.node.title = words.join("\n");
    this.parts.forEach((part, s) => {
      const share = probabilities[s] ?? 0;
      part.style.setProperty("--share", share);
      part.firstChild.textContent = share > 0 ? `${Math.round(100 * share)} %` : "";
    });
  }
}
