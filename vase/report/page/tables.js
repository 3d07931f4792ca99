// Tables that sort by the column whose heading is pressed.

import { element } from "vase/elements.js";

const SENTENCE = 40; // letters; on a narrow screen, a last column of longer texts gets lines of its own

/** A table from {title, note, columns, rows}; a cell is [text, value to sort by]. */
export function sortable({ title, note, columns, rows }) {
  const body = element("tbody");
  const heads = columns.map((column, i) =>
    element("th", { scope: "col" }, element("button", { type: "button", click: () => sort(i) }, column)),
  );
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i][1] === "number"));
  const state = { column: -1, descending: false };

  function sort(column) {
    state.descending = state.column === column ? !state.descending : numeric[column];
    state.column = column;
    const sign = state.descending ? -1 : 1;
    fill([...rows].sort((a, b) => compared(a[column][1], b[column][1], sign)));
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function fill(ordered) {
    const line = (row) => row.map(([text], i) => element("td", { class: numeric[i] ? "number" : "" }, text));
    body.replaceChildren(...ordered.map((row) => element("tr", {}, line(row))));
  }

  heads.forEach((head, i) => numeric[i] && head.classList.add("number"));
  fill(rows);
  const prose = rows.some((row) => row.at(-1)[0].length > SENTENCE);
  const head = element("thead", {}, element("tr", {}, heads));
  const table = element("table", { class: prose ? "data prose" : "data", "aria-label": title }, head, body);
  const scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table);
  return element("div", {}, element("h2", {}, title), element("p", { class: "note" }, note), scroll);
}

/** Numbers by size, then words; what is not known comes last in either direction. */
function compared(a, b, sign) {
  const rank = (value) => (value === null ? 2 : typeof value === "number" ? 0 : 1);
  if (rank(a) !== rank(b) || a === null) return rank(a) - rank(b);
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
}
