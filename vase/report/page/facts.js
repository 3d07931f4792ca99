// What the run cost, its configuration, and how to repeat it.

import { element } from "vase/elements.js";

/** Fill the section. */
export function facts(section, { cost, configuration, commands }) {
  section.append(
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h2", {}, "What it cost"), list(cost)),
      element(
        "div",
        {},
        element("h2", {}, "Train it again"),
        commands.map(command),
        element("p", { class: "note" }, "The same versions give the same rows and weights on one kind of processor."),
      ),
    ),
    element("h2", {}, "Configuration and versions"),
    ...Object.entries(configuration).map(([name, lines]) =>
      element("details", { open: name === "Versions" }, element("summary", {}, name), list(lines)),
    ),
  );
}

function list(lines) {
  return element(
    "dl",
    {},
    lines.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
  );
}

function command(text) {
  const copy = element("button", { type: "button", "aria-label": `copy: ${text}` }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // a page from a file may not use the clipboard
    }
  });
  const options = text.split(/ (?=--)/); // a line ends between two of them, not at a dash
  const words = options.map((option) => element("span", { class: "option" }, option));
  const code = element("code", {}, words.flatMap((word, i) => (i ? [" ", word] : [word])));
  return element("div", { class: "command" }, code, copy);
}
