// Traversals: each latent moved from end to end while the others stay.

export const POINTS = 9;

/** The codes of a strip: around a code, with one latent from one end to the other. */
export function traversal(code, latent, span) {
  return Array.from({ length: POINTS }, (_, i) => {
    const moved = Float32Array.from(code);
    moved[latent] = -span + (2 * span * i) / (POINTS - 1);
    return moved;
  });
}
