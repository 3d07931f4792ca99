// The live page of a watch: asks for news every two seconds, and draws the timeline again where the reader left it.

import { element } from "vase/elements.js";
import { sentence } from "vase/moment.js";
import { timeline } from "vase/timeline.js";

const PAUSE = 2000; // milliseconds between two questions
const title = element("h1");
const status = element("p", { class: "summary", role: "status" });
document.getElementById("header").append(title, status);
const section = document.getElementById("timeline");
let shown = null;
let last = -1;

async function refresh() {
  try {
    const answer = await fetch(`news?after=${last}`);
    if (answer.status === 200) show(await answer.json());
  } catch {
    status.textContent = "The watch has ended. This page shows what it saw until then.";
    return;
  }
  setTimeout(refresh, PAUSE);
}

function show(data) {
  last = data.rows;
  title.textContent = document.title = data.title;
  status.textContent = sentence(data.status);
  if (!data.timeline) return;
  const before = shown && { view: shown.view, cursor: shown.cursor, total: shown.total };
  section.hidden = false;
  shown?.close();
  section.replaceChildren();
  shown = timeline(section, data);
  const all = !before || (before.view.start === 0 && before.view.end === before.total);
  if (!all) shown.look(before.view.start, before.view.end);
  shown.moveTo(!before || before.cursor === before.total ? shown.total : before.cursor);
}

refresh();
