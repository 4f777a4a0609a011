// What tests/browser/test_gallery.py measures in a page of the gallery; evaluated there.
({ CELLS, HUES, MIN_SATURATION }) => {
  /** Of what is selected, with what a reader sees of it: not what is hidden, nor texts for screen readers alone. */
  const isSeen = (one) => {
    const style = getComputedStyle(one);
    return style.visibility === "visible" && colourOf(style.color)[3] > 0 && !one.closest(".sr, [hidden], option, title, datalist")
      && one.checkVisibility({ checkOpacity: true });
  };
  const items = (leftOut) => [...document.querySelectorAll(".gallery-item")].filter((one) => !leftOut.includes(one.dataset.component))
    .map((one) => ({ name: one.dataset.component, frame: one.querySelector(".gallery-frame") }));

  /** The boxes of the lines of a text. */
  const boxesOf = (text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
  };
  const textsIn = (frame) => {
    const walker = document.createTreeWalker(frame, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const text = walker.currentNode;
      if (text.data.trim() && isSeen(text.parentElement)) found.push({ text, in: text.parentElement, boxes: boxesOf(text) });
    }
    return found.filter(({ boxes }) => boxes.length);
  };

  /** "rgb(1 2 3 / 50%)" of a computed style as four numbers. */
  const colourOf = (() => {
    const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const known = new Map();
    return (text) => {
      if (!known.has(text)) {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = text;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        known.set(text, [r, g, b, a / 255]);
      }
      return known.get(text);
    };
  })();
  const over = ([r, g, b, a], below) => [r, g, b].map((part, n) => part * a + below[n] * (1 - a));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrastOf = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  /** What is behind an element's text; null where that is a picture. */
  const groundOf = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const { backgroundColor, backgroundImage } = getComputedStyle(one);
      if (backgroundImage !== "none") return null;
      const colour = colourOf(backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const isOff = (one) => one.closest(":disabled, [aria-disabled=true], [data-unavailable]") !== null;

  const scrolls = (one) => getComputedStyle(one).overflowX !== "visible";
  /** Whether a box reaches out of the frame at its right, with nothing between that scrolls or cuts it. */
  const runsOut = (element, { right }, frame) => {
    for (let one = element; one !== frame; one = one.parentElement) if (scrolls(one)) return false;
    return right > frame.getBoundingClientRect().right + 1;
  };
  const overlap = (a, b) => Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left))
    * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  const area = ({ width, height }) => width * height;
  /** What of a box its scrolled and cut parents show. */
  const shownOf = (element, { left, right, top, bottom }, frame) => {
    const box = { left, right, top, bottom };
    for (let one = element; one && one !== frame.parentElement; one = one.parentElement) {
      if (getComputedStyle(one).overflow === "visible") continue;
      const around = one.getBoundingClientRect();
      [box.left, box.right] = [Math.max(box.left, around.left), Math.min(box.right, around.right)];
      [box.top, box.bottom] = [Math.max(box.top, around.top), Math.min(box.bottom, around.bottom)];
    }
    return { ...box, width: Math.max(0, box.right - box.left), height: Math.max(0, box.bottom - box.top) };
  };

  /** Layouts that are broken, and texts that cannot be read: sentences, each with the name of its element. */
  const problems = (leftOut, { overlapping, contrast }) => items(leftOut).flatMap(({ name, frame }) => {
    const found = [];
    const texts = textsIn(frame);
    if (!texts.length && !frame.querySelector("svg, canvas, input, button, progress, meter")) found.push("is empty");
    // Drawings place their texts themselves, and have tests of their own.
    const plain = texts.filter((one) => !one.in.closest("svg, .plot, .stage, .timeline"));
    const say = ({ text }) => JSON.stringify(text.data.trim().slice(0, 40));
    const boxes = plain.flatMap((one) => one.boxes.map((box) => ({ one, box: shownOf(one.in, box, frame) })))
      .filter(({ box }) => area(box) > 0).sort((a, b) => a.box.top - b.box.top);
    for (const [at, { one, box }] of boxes.entries()) {
      for (let next = at + 1; next < boxes.length && boxes[next].box.top < box.bottom; next++) {
        const other = boxes[next];
        if (one.text === other.one.text || one.in.closest(".caption, .seg, dialog") !== other.one.in.closest(".caption, .seg, dialog")) continue;
        if (overlap(box, other.box) > overlapping * Math.min(area(box), area(other.box)))
          found.push(`${say(one)} and ${say(other.one)} are on each other`);
      }
    }
    for (const one of plain) {
      if (one.boxes.some((box) => runsOut(one.in, box, frame))) found.push(`${say(one)} runs out of its frame`);
      const ground = isOff(one.in) ? null : groundOf(one.in);
      const ratio = ground ? contrastOf(over(colourOf(getComputedStyle(one.in).color), ground), ground) : contrast;
      if (ratio < contrast) found.push(`${say(one)} has a contrast of ${ratio.toFixed(1)}`);
    }
    return [...new Set(found)].map((problem) => `${name}: ${problem}`);
  });

  const hex = (number) => Math.round(number).toString(16).padStart(2, "0");
  /** The mean colours of a picture's cells, row by row, and how much of it each hue covers, in parts of 10 000. */
  const signatureOf = ({ data, width, height }) => {
    const sums = Array.from({ length: CELLS * CELLS }, () => [0, 0, 0, 0]);
    const hues = Array.from({ length: HUES }, () => 0);
    for (let y = 0, at = 0; y < height; y++) {
      const row = Math.floor((y * CELLS) / height) * CELLS;
      for (let x = 0; x < width; x++, at += 4) {
        const [r, g, b] = [data[at], data[at + 1], data[at + 2]];
        const sum = sums[row + Math.floor((x * CELLS) / width)];
        sum[0] += r;
        sum[1] += g;
        sum[2] += b;
        sum[3]++;
        const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
        if (most - least < MIN_SATURATION) continue;
        const sixth = most === r ? ((g - b) / (most - least) + 6) % 6 : most === g ? (b - r) / (most - least) + 2 : (r - g) / (most - least) + 4;
        hues[Math.floor((sixth * HUES) / 6) % HUES]++;
      }
    }
    return {
      size: [width, height],
      hues: hues.map((count) => Math.round((count * 10_000) / (width * height))),
      cells: sums.map(([r, g, b, n]) => [r, g, b].map((part) => hex(n ? part / n : 0)).join("")).join(""),
    };
  };

  /** The signature of each element, by its name. `png`: a picture of the whole page, as base64. */
  const signatures = async (leftOut, png) => {
    const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const { scrollX, scrollY } = window;
    return Object.fromEntries(items(leftOut).map(({ name, frame }) => {
      const box = frame.getBoundingClientRect();
      const [x, y, width, height] = [box.x + scrollX, box.y + scrollY, box.width, box.height].map(Math.round);
      const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      context.drawImage(picture, -x, -y);
      return [name, signatureOf(context.getImageData(0, 0, width, height))];
    }));
  };

  /** How many elements have changed since and are not drawn, after two frames. */
  const pending = async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    await frame();
    return [...document.querySelectorAll("#gallery *")].filter((one) => one.isUpdatePending).length;
  };

  window.gallery = { pending, problems, signatures };
}
