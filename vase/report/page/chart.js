// Scales and ticks of the timeline's tracks: pure functions, and the space that all tracks share.

export const LEFT = 52; // room for the labels of the y axis
export const RIGHT = 10;

/** From steps to pixels, for the steps that are in view. */
export function stepScale({ start, end }, width) {
  const room = width - LEFT - RIGHT;
  return {
    x: (step) => LEFT + ((step - start) / (end - start)) * room,
    step: (x) => start + ((x - LEFT) / room) * (end - start),
  };
}

/** Round values between two numbers, about `count` of them. */
export function ticks(low, high, count = 4) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  const first = Math.ceil(low / unit);
  return Array.from({ length: Math.floor(high / unit + 1e-9) - first + 1 }, (_, i) => (first + i) * unit);
}

/** 1, 2 and 5 times powers of ten between two positive numbers; only powers if many, round values if few. */
export function logTicks(low, high) {
  const found = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    found.push(...[1, 2, 5].map((factor) => factor * power).filter((value) => value >= low && value <= high));
  if (found.length < 2) return ticks(low, high, 3);
  return found.length > 6 ? found.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9) : found;
}

/** A number as people write it. */
export function format(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text =
    size >= 100
      ? Math.round(value).toLocaleString("en")
      : size > 0 && size < 0.001
        ? value.toExponential(1)
        : String(+value.toPrecision(3));
  return text.replace("-", "−");
}

/** The place in a sorted list of the last step that is not after `step`; 0 if all are. */
export function indexAt(steps, step) {
  let low = 0;
  let high = steps.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (steps[middle] <= step) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The place of the first step that is not before `step`; the last place if all are. */
export function indexAfter(steps, step) {
  const found = indexAt(steps, step);
  return steps[found] < step ? Math.min(found + 1, steps.length - 1) : found;
}

/** The part of a sorted list of steps that is in view, with one point more on either side. */
export function inView(steps, { start, end }) {
  const first = indexAt(steps, start);
  return [first, Math.min(steps.length - 1, indexAt(steps, end) + 1)];
}
