// Draws what the full model answers, without ever asking for something that is already stale.

import { ask, attempt, Latest } from "vase/asking.js";
import { canvasFor, paint } from "vase/picture.js";

/** Draws with the decoder of a model on the server; a painter like that of the page itself. */
export class ServerPainter {
  constructor(model, { shape, latents, seen }) {
    Object.assign(this, { model, shape, latents, seen });
    this.latest = new Latest();
    this.round = 0; // of strips
  }

  /** Draw a code on the canvas of every environment. */
  answer(code, environment, canvases, drawn) {
    const wanted = Array.from(code);
    this.latest.run(async () => {
      const pictures = await this.decode(
        canvases.map(() => wanted),
        canvases.map((_, s) => s),
      );
      canvases.forEach((canvas, s) => paint(canvas, pictures[s], this.shape));
      drawn();
    });
  }

  /** Draw rows of codes, [{codes, environment, canvas}], row by row, and drop what the last call has not drawn. */
  strips(rows) {
    const round = ++this.round;
    const draw = async ({ codes, environment, canvas }) => {
      const pictures = await this.decode(codes, environment);
      pictures.forEach((pixels, i) => paint(canvas, pixels, this.shape, i));
    };
    attempt(async () => {
      for (const row of rows) if (round === this.round) await draw(row);
    });
  }

  /** Stop drawing strips. */
  stop() {
    this.round++;
  }

  /** Codes as pictures, each a data: address. */
  async pictures(codes, environment) {
    const decoded = await attempt(() => this.decode(codes, environment));
    return (decoded ?? []).map((pixels) => {
      const canvas = canvasFor(this.shape);
      paint(canvas, pixels, this.shape);
      return canvas.toDataURL();
    });
  }

  /** Codes as pixels in [0, 1], in one environment or each in its own. */
  async decode(codes, environments) {
    const question = { model: this.model, codes: rounded(codes), environments };
    const bytes = new Uint8Array(await (await ask("decode", question)).arrayBuffer());
    const size = bytes.length / codes.length;
    return codes.map((_, i) => Float32Array.from(bytes.subarray(i * size, (i + 1) * size), (byte) => byte / 255));
  }
}

/** Codes with as many digits as matter. */
export function rounded(codes) {
  return codes.map((code) => Array.from(code, (value) => Number(value.toFixed(4))));
}
