/**
 * Checks of a page for users with low vision, without a mouse, or with a screen reader. Runs in the browser: the whole
 * file is one expression.
 * WCAG 2.2 §1.3.1, §1.4.3, §1.4.10, §2.4.2, §3.1.1, §4.1.2.
 */
({
  /** Texts with too little contrast to their background, each with its ratio. */
  faintTexts() {
    const LEAST = 4.5;
    const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = (colour) => {
      const [r, g, b] = colour.slice(0, 3).map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      for (let at = element; at !== null; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour.length === 3 || colour[3] === 1) return colour;
      }
      return [255, 255, 255];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const faint = [];
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent.trim();
      if (text === '' || !element.checkVisibility()) continue;
      const [one, other] = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))];
      const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      if (ratio < LEAST) faint.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    return faint;
  },

  /** What is missing of the page's structure. */
  structureFaults() {
    const faults = [];
    for (const selector of ['html[lang="en"]', 'main', 'header', 'footer', 'h1', 'head > title']) {
      const count = document.querySelectorAll(selector).length;
      if (count !== 1) faults.push(`${count} of ${selector}`);
    }
    for (const input of document.querySelectorAll('input:not([type="hidden"])')) {
      if (input.labels.length === 0) faults.push(`${input.name} has no label`);
    }
    for (const attribute of ['aria-labelledby', 'aria-describedby']) {
      for (const element of document.querySelectorAll(`[${attribute}]`)) {
        for (const id of element.getAttribute(attribute).split(' ')) {
          if (document.getElementById(id) === null) faults.push(`${attribute} names no ${id}`);
        }
      }
    }
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`two of #${id}`);
    const levels = [...document.querySelectorAll('h1, h2, h3')].map(({ tagName }) => Number(tagName[1]));
    if (levels.some((level, index) => index > 0 && level > levels[index - 1] + 1))
      faults.push('headings skip');
    return faults;
  },

  /** A header of more rows than one on a desktop and two on a phone, and a footer with other edges. */
  frameFaults() {
    const [header, footer] = ['header', 'footer'].map((name) => document.querySelector(name));
    const rows = innerWidth > 960 ? 1 : 2;
    const { height } = header.getBoundingClientRect();
    const [above, below] = [header, footer].map((each) => each.firstElementChild.getBoundingClientRect());
    return [
      ...(height > rows * 64 ? [`a header of ${height} pixels`] : []),
      ...(above.left === below.left && above.right === below.right ? [] : ['header and footer differ']),
    ];
  },

  /** Words of letters alone that continue in the next line. */
  brokenWords() {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const broken = [];
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      if (!node.parentElement.checkVisibility()) continue;
      for (const { 0: word, index } of node.data.matchAll(
        /(?<![^\s/:@.,;()-])\p{L}{2,24}(?![^\s/:@.,;()-])/gu,
      )) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top)));
        if (lines.size > 1) broken.push(`${word} is broken`);
      }
    }
    return broken;
  },

  /** What makes the page scroll sideways. */
  overflowing() {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} pixels too wide`] : [];
  },
});
