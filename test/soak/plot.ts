/** A line plot as SVG: time in minutes, and intervals in which something was wrong in grey. */

export interface Line {
  readonly name: string;
  /** Minutes and value, in the order of time. */
  readonly points: readonly (readonly [minutes: number, value: number])[];
}

export interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
  /** In minutes. */
  readonly marked: readonly { readonly from: number; readonly to: number }[];
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 240, 64, 170, 30, 30];
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b', '#17becf', '#7f7f7f'];
const TICKS = 4;

export function plotSVG({ title, unit, lines, marked }: Plot): string {
  const points = lines.flatMap((line) => line.points);
  const end = Math.max(1 / 60, ...points.map(([minutes]) => minutes));
  const top = niceTop(Math.max(0, ...points.map(([, value]) => value)));
  const x = (minutes: number): string => rounded(LEFT + (minutes / end) * (WIDTH - LEFT - RIGHT));
  const y = (value: number): string => rounded(HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM));
  const grey = marked.map(({ from, to }) => {
    const [left, right] = [Number(x(Math.max(0, from))), Number(x(Math.min(end, to)))];
    return `<rect x="${left}" y="${TOP}" width="${rounded(Math.max(1, right - left))}" height="${HEIGHT - TOP - BOTTOM}" fill="#ececec"/>`;
  });
  const ticks = Array.from({ length: TICKS + 1 }, (_, at) => at / TICKS).flatMap((part) => [
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(part * top)}" y2="${y(part * top)}" stroke="#ddd"/>`,
    `<text x="${LEFT - 6}" y="${y(part * top)}" text-anchor="end" dominant-baseline="middle">${label(part * top)}</text>`,
    `<text x="${x(part * end)}" y="${HEIGHT - 10}" text-anchor="middle">${label(part * end)} min</text>`,
  ]);
  const drawn = lines.flatMap(({ name, points: own }, at) => {
    const colour = COLOURS[at % COLOURS.length];
    const path = own.map(([minutes, value]) => `${x(minutes)},${y(value)}`).join(' ');
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      `<text x="${WIDTH - RIGHT + 10}" y="${TOP + 8 + at * 16}" fill="${colour}">${escaped(name)}</text>`,
    ];
  });
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">`;
  const caption = `<text x="${LEFT}" y="18" font-size="13">${escaped(`${title} (${unit})`)}</text>`;
  const ground = `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`;
  return `${[head, ground, ...grey, ...ticks, ...drawn, caption, '</svg>'].join('\n')}\n`;
}

/** 1, 2 or 5 times a power of ten. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * power).find((top) => top >= value) ?? value;
}

function label(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function rounded(value: number): string {
  return value.toFixed(1);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
