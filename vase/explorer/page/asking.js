// Questions to the server that brought the page, and what to do if it cannot answer.

import { element } from "vase/elements.js";

/** What the server has at an address. */
export async function get(path) {
  return (await answered(await fetch(path))).json();
}

/** The answer to a question, as a Response. */
export async function ask(path, question) {
  return answered(await fetch(path, { method: "POST", body: JSON.stringify(question) }));
}

/** The answer to a file. */
export async function send(path, file) {
  return (await answered(await fetch(path, { method: "POST", body: file }))).json();
}

async function answered(response) {
  if (response.ok) return response;
  const text = await response.text();
  let reason = text;
  try {
    reason = JSON.parse(text).error;
  } catch {
    // a plain sentence
  }
  throw new Error(reason || `the server answered ${response.status}`);
}

/** Runs one task at a time and, of those that wait, the newest only: what is stale is never asked. */
export class Latest {
  run(task) {
    this.next = task;
    if (!this.busy) this.work();
  }

  async work() {
    this.busy = true;
    while (this.next) {
      const task = this.next;
      this.next = null;
      await attempt(task);
    }
    this.busy = false;
  }
}

/** Do something, and tell the user if it fails. */
export async function attempt(task) {
  try {
    return await task();
  } catch (error) {
    const gone = error instanceof TypeError; // of fetch
    tell(gone ? "The server does not answer; start vase explore again." : `${error.message}`, true);
    return null;
  }
}

let line = null;
let timer = null;

/** Show one sentence at the foot of the page for a few seconds. */
export function tell(sentence, wrong = false) {
  line ??= document.body.appendChild(element("p", { class: "told", role: "status" }));
  line.textContent = sentence;
  line.classList.toggle("wrong", wrong);
  line.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => (line.hidden = true), wrong ? 8000 : 3000);
}
