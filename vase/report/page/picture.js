// Pixels on a canvas.

/** An empty canvas for `count` images of a shape side by side, with a gap of one pixel. */
export function canvasFor([, height, width], count = 1) {
  const canvas = document.createElement("canvas");
  canvas.width = count * (width + 1) - 1;
  canvas.height = height;
  return canvas;
}

/** Draw pixels in [0, 1], (height, width, channels), at place `index` of a canvas. */
export function paint(canvas, pixels, [channels, height, width], index = 0) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let place = 0; place < height * width; place++) {
    for (let colour = 0; colour < 3; colour++)
      image.data[4 * place + colour] = 255 * pixels[place * channels + (channels === 1 ? 0 : colour)];
    image.data[4 * place + 3] = 255;
  }
  context.putImageData(image, index * (width + 1), 0);
}
