// Pictures of your own: dropped, pasted, chosen or taken with the webcam, and encoded like any other image.

import { attempt, send } from "vase/asking.js";
import { element } from "vase/elements.js";

/** Add a group for own pictures to the gallery; `added(image)` is called for each one that was encoded. */
export function ownPictures(panel, model, added) {
  const thumbs = element("div", { class: "thumbs" });
  let count = 0;

  const take = (file) =>
    attempt(async () => {
      const found = await send(`picture?model=${encodeURIComponent(model)}`, file);
      const image = { ...found, label: `your picture ${++count}` };
      panel.add([image], thumbs);
      added(image);
      panel.pick(image);
    });

  const chooser = element("input", { type: "file", accept: "image/*", multiple: true, class: "hidden", tabindex: -1 });
  chooser.setAttribute("aria-label", "Picture files");
  chooser.addEventListener("change", async () => {
    for (const file of chooser.files) await take(file);
    chooser.value = "";
  });
  const gallery = panel.section.querySelector(".gallery");
  gallery.prepend(
    element(
      "div",
      { class: "group own" },
      element("h3", {}, "Your pictures"),
      element(
        "div",
        { class: "drop" },
        element("p", { class: "note" }, "Drop or paste a picture anywhere on this page, or"),
        element(
          "div",
          { class: "buttons" },
          element("button", { type: "button", click: () => chooser.click() }, "Choose…"),
          element("button", { type: "button", click: () => webcam(take) }, "Webcam"),
          chooser,
        ),
      ),
      thumbs,
    ),
  );
  gallery.scrollTo(0, 0); // own pictures come first
  listen(take);
}

function listen(take) {
  const mark = (on) => document.documentElement.classList.toggle("dropping", on);
  const takeAll = async (files) => {
    for (const file of files) await take(file);
  };
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    takeAll(event.dataTransfer.files);
  });
  document.addEventListener("paste", (event) => takeAll(event.clipboardData.files));
}

/** A dialog with what the camera sees. */
function webcam(take) {
  return attempt(async () => {
    const stream = await camera();
    const video = element("video", { autoplay: true, playsinline: true, "aria-label": "what the webcam sees" });
    video.muted = true;
    video.srcObject = stream;
    const snap = element(
      "button",
      { type: "button", class: "primary", click: () => shoot(video, take) },
      "Take picture",
    );
    const close = element("button", { type: "button", click: () => dialog.close() }, "Close");
    const buttons = element("div", { class: "buttons" }, snap, close);
    const dialog = element("dialog", { class: "webcam", "aria-label": "Webcam" }, video, buttons);
    dialog.addEventListener("close", () => {
      for (const track of stream.getTracks()) track.stop();
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

async function camera() {
  try {
    return await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480 } });
  } catch (error) {
    throw new Error(`The webcam cannot be used (${error.message}).`);
  }
}

/** Send the middle of what is seen now. */
async function shoot(video, take) {
  const side = Math.min(video.videoWidth, video.videoHeight);
  if (!side) return;
  const canvas = element("canvas", { width: side, height: side });
  const left = (video.videoWidth - side) / 2;
  const top = (video.videoHeight - side) / 2;
  canvas.getContext("2d").drawImage(video, left, top, side, side, 0, 0, side, side);
  await take(await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.92)));
}
