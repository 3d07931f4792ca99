// Traversals: each latent moved from end to end while the others stay, drawn a few milliseconds at a time.

import { paint } from "vase/picture.js";

export const POINTS = 9;
const SLICE = 8; // milliseconds of drawing between two frames

/** Draws the strips of many latents without holding up the page; a new call drops what the last one has not drawn. */
export class Strips {
  constructor(decoder, span) {
    this.decoder = decoder;
    this.values = Array.from({ length: POINTS }, (_, i) => -span + (2 * span * i) / (POINTS - 1));
    this.turn = 0;
  }

  /** Draw the strips of some latents, [{latent, canvas}], around a code. */
  draw(rows, code, environment) {
    const turn = ++this.turn;
    const frames = this.frames(rows, Float32Array.from(code), environment);
    const work = () => {
      const end = performance.now() + SLICE;
      while (turn === this.turn && performance.now() < end) if (frames.next().done) return;
      if (turn === this.turn) requestAnimationFrame(work);
    };
    requestAnimationFrame(work);
  }

  /** Stop drawing. */
  stop() {
    this.turn++;
  }

  *frames(rows, code, environment) {
    for (const { latent, canvas } of rows) {
      const moved = Float32Array.from(code);
      for (const [i, value] of this.values.entries()) {
        moved[latent] = value;
        paint(canvas, this.decoder.decode(moved, environment), this.decoder.shape, i);
        yield;
      }
    }
  }
}
