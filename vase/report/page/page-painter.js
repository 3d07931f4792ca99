// Draws what the decoder in the page answers, without holding up the page.
//
// A painter has `shape`, `latents` and `seen`, and the methods below; one that asks a server has the same.

import { Decoder } from "vase/decoder.js";
import { canvasFor, paint } from "vase/picture.js";

const FRAME = 10; // milliseconds of decoding in one frame
const SLICE = 8; // milliseconds of drawing strips between two frames

/** Draws with a decoder that `vase/report/decoder.py` exported. */
export class PagePainter {
  constructor(data) {
    this.decoder = new Decoder(data);
    this.shape = this.decoder.shape;
    this.latents = this.decoder.latents;
    this.seen = this.decoder.seen;
    this.turn = 0; // the environment that was drawn last beside the current one
    this.round = 0; // of strips
  }

  /** Draw a code on the canvas of an environment, and on as many others as the frame has time for, by turns. */
  answer(code, environment, canvases, drawn) {
    const end = performance.now() + FRAME;
    this.view(code, environment, canvases);
    drawn();
    for (let i = 0; i < canvases.length && performance.now() < end; i++) {
      this.turn = (this.turn + 1) % canvases.length;
      if (this.turn !== environment) this.view(code, this.turn, canvases);
    }
  }

  view(code, environment, canvases) {
    paint(canvases[environment], this.decoder.decode(code, environment), this.shape);
  }

  /** Draw rows of codes, [{codes, environment, canvas}], and drop what the last call has not drawn. */
  strips(rows) {
    const round = ++this.round;
    const frames = this.frames(rows);
    const work = () => {
      const end = performance.now() + SLICE;
      while (round === this.round && performance.now() < end) if (frames.next().done) return;
      if (round === this.round) requestAnimationFrame(work);
    };
    requestAnimationFrame(work);
  }

  *frames(rows) {
    for (const { codes, environment, canvas } of rows)
      for (const [i, code] of codes.entries()) {
        paint(canvas, this.decoder.decode(code, environment), this.shape, i);
        yield;
      }
  }

  /** Stop drawing strips. */
  stop() {
    this.round++;
  }

  /** Codes as pictures, each a data: address. */
  async pictures(codes, environment) {
    return codes.map((code) => {
      const canvas = canvasFor(this.shape);
      paint(canvas, this.decoder.decode(code, environment), this.shape);
      return canvas.toDataURL();
    });
  }
}
