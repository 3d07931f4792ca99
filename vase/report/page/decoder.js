// The decoder p(x|z,s) in plain JavaScript: pixels from a code and an environment. Grids are (height, width, channels).

/** A decoder from what `vase/report/decoder.py` exports. */
export class Decoder {
  constructor(data) {
    this.shape = data.shape;
    this.latents = data.latents;
    this.seen = data.seen;
    this.first = matrix(data.first);
    this.environments = unpack(data.environments);
    this.layers = [];
    let grid = null;
    for (const layer of data.layers) {
      const made = MAKERS[layer.kind](layer, grid);
      this.layers.push(made.apply);
      grid = made.grid;
    }
    this.crop = makeCrop(grid, this.shape);
    this.input = new Float32Array(this.latents);
    this.hidden = new Float32Array(this.first.rows);
    this.finish = data.output === "sigmoid" ? (y) => 1 / (1 + Math.exp(-y)) : (y) => Math.min(1, Math.max(0, y));
  }

  /** E[x|z,s] in [0, 1], (height, width, channels); the next call writes into the same array. */
  decode(code, environment) {
    const seen = this.seen[environment];
    for (let n = 0; n < this.latents; n++) this.input[n] = seen[n] ? code[n] : 0;
    const width = this.hidden.length;
    product(this.first, this.input, this.hidden);
    for (let i = 0; i < width; i++) this.hidden[i] += this.environments[environment * width + i];
    let y = relu(this.hidden);
    this.layers.forEach((apply, i) => {
      y = apply(y);
      if (i < this.layers.length - 1) relu(y);
    });
    y = this.crop(y);
    for (let i = 0; i < y.length; i++) y[i] = this.finish(y[i]);
    return y;
  }
}

/** Weights from base64 of 16-bit whole numbers and their scale. */
export function unpack({ scale, int16 }) {
  const bytes = Uint8Array.from(atob(int16), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => scale * view.getInt16(2 * i, true));
}

const MAKERS = { linear: makeLinear, broadcast: makeBroadcast, mix: makeMix, deconv: makeDeconv };

/** A fully connected layer whose outputs are a grid. */
function makeLinear(layer) {
  const [channels, height, width] = layer.grid;
  const order = channelsLast(channels, height * width);
  const made = matrix(layer, order);
  const out = new Float32Array(made.rows);
  return { grid: { channels, height, width }, apply: (x) => product(made, x, out) };
}

/** The same code at every place of a grid, plus what the coordinates of the place add. */
function makeBroadcast(layer) {
  const [channels, height, width] = layer.place.shape;
  const order = channelsLast(channels, height * width);
  const packed = unpack(layer.place);
  const place = Float32Array.from(order, (from) => packed[from]);
  const made = matrix(layer);
  const code = new Float32Array(channels);
  const out = new Float32Array(place.length);
  const apply = (x) => {
    product(made, x, code);
    for (let i = 0; i < out.length; i++) out[i] = place[i] + code[i % channels];
    return out;
  };
  return { grid: { channels, height, width }, apply };
}

/** A 1×1 convolution. */
function makeMix(layer, { height, width }) {
  const made = matrix(layer);
  const out = new Float32Array(made.rows * height * width);
  const apply = (x) => {
    for (let place = 0; place < height * width; place++) {
      const from = x.subarray(place * made.columns, (place + 1) * made.columns);
      product(made, from, out.subarray(place * made.rows, (place + 1) * made.rows));
    }
    return out;
  };
  return { grid: { channels: made.rows, height, width }, apply };
}

/** A transposed 4×4 convolution of stride 2 and padding 1: input row i reaches output rows 2i−1 to 2i+2. */
function makeDeconv(layer, { channels, height, width }) {
  const [inputs, outputs] = layer.weight.shape;
  const packed = unpack(layer.weight);
  const bias = unpack(layer.bias);
  const weight = new Float32Array(packed.length); // tap, input, output
  for (let i = 0; i < inputs; i++)
    for (let o = 0; o < outputs; o++)
      for (let tap = 0; tap < 16; tap++)
        weight[(tap * inputs + i) * outputs + o] = packed[(i * outputs + o) * 16 + tap];
  const out = new Float32Array(4 * height * width * outputs);
  const apply = (x) => {
    for (let i = 0; i < out.length; i++) out[i] = bias[i % outputs];
    for (let row = 0; row < height; row++)
      for (let column = 0; column < width; column++) spread(x, (row * width + column) * channels, row, column);
    return out;
  };
  const values = new Float32Array(inputs + 3); // of the channels that a ReLU has left, in fours: half of them are zero
  const starts = new Int32Array(inputs + 3); // where their weights begin
  const spread = (x, from, row, column) => {
    let count = 0;
    for (let i = 0; i < inputs; i++) {
      if (x[from + i] === 0) continue;
      values[count] = x[from + i];
      starts[count++] = i * outputs;
    }
    values.fill(0, count, count + 3);
    for (let tap = 0; tap < 16; tap++) {
      const y = 2 * row - 1 + (tap >> 2);
      const x2 = 2 * column - 1 + (tap & 3);
      if (y < 0 || x2 < 0 || y >= 2 * height || x2 >= 2 * width) continue;
      addTo((y * 2 * width + x2) * outputs, tap * inputs * outputs, count);
    }
  };
  const addTo = (to, taps, count) => {
    for (let i = 0; i < count; i += 4) {
      const v0 = values[i];
      const v1 = values[i + 1];
      const v2 = values[i + 2];
      const v3 = values[i + 3];
      const w0 = starts[i] + taps;
      const w1 = starts[i + 1] + taps;
      const w2 = starts[i + 2] + taps;
      const w3 = starts[i + 3] + taps;
      for (let o = 0; o < outputs; o++)
        out[to + o] += v0 * weight[w0 + o] + v1 * weight[w1 + o] + v2 * weight[w2 + o] + v3 * weight[w3 + o];
    }
  };
  return { grid: { channels: outputs, height: 2 * height, width: 2 * width }, apply };
}

/** The pixels of the image: grids reach beyond it if its sides are no multiples of their stride. */
function makeCrop({ channels, height: rows, width: columns }, [, height, width]) {
  if (rows === height && columns === width) return (y) => y;
  const out = new Float32Array(height * width * channels);
  const line = width * channels;
  return (y) => {
    for (let row = 0; row < height; row++) {
      const from = row * columns * channels;
      out.set(y.subarray(from, from + line), row * line);
    }
    return out;
  };
}

/** Weight and bias of a layer; `order` names the old row of each new one. */
function matrix({ weight, bias }, order = null) {
  const [rows, columns] = weight.shape;
  const values = unpack(weight);
  const offsets = unpack(bias);
  if (order === null) return { rows, columns, values, offsets };
  const moved = new Float32Array(values.length);
  order.forEach((from, to) => moved.set(values.subarray(from * columns, (from + 1) * columns), to * columns));
  return { rows, columns, values: moved, offsets: Float32Array.from(order, (from) => offsets[from]) };
}

/** Where each element of a grid (places, channels) is in one of (channels, places). */
function channelsLast(channels, places) {
  return Array.from({ length: channels * places }, (_, i) => (i % channels) * places + Math.floor(i / channels));
}

function product({ rows, columns, values, offsets }, x, out) {
  for (let row = 0, at = 0; row < rows; row++) {
    let sum = offsets[row];
    for (let column = 0; column < columns; column++) sum += values[at++] * x[column];
    out[row] = sum;
  }
  return out;
}

function relu(values) {
  for (let i = 0; i < values.length; i++) if (values[i] < 0) values[i] = 0;
  return values;
}
