/**
 * The style sheet and the icon of the portal's pages, and the client that it serves. The style sheet is
 * part of each page and allowed by its hash, so that page and style cannot be of different versions; text has
 * a contrast of at least 4.5:1, borders of fields 3:1.
 * WCAG 2.2 §1.4.3, §1.4.11, §2.4.7; Media Queries Level 5 (prefers-color-scheme).
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hasCode } from '../../lib/error-code.ts';
import { constant } from './html.ts';

export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #eef2f6; --surface: #ffffff; --sunken: #f3f6f9;
  --text: #17202c; --muted: #4a5868; --line: #d5dde6; --field: #6f7d8d;
  --accent: #0a5aa8; --accent-strong: #084a8b; --on-accent: #ffffff; --tint: #e3effb;
  --danger: #a8211a; --danger-tint: #fdecea; --good: #1c6b3a; --good-tint: #e6f4ea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e131a; --surface: #171f29; --sunken: #0f161e;
    --text: #e9eef4; --muted: #a7b4c3; --line: #2d3947; --field: #8493a5;
    --accent: #82bbf7; --accent-strong: #a9d1fa; --on-accent: #07121e; --tint: #1c2d40;
    --danger: #ffb0a8; --danger-tint: #3a1d1c; --good: #8fd8a8; --good-tint: #15301f;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; display: flex; flex-direction: column;
  background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
.wrap { width: 100%; max-width: 50rem; margin: 0 auto; padding: 0 1.25rem; }
.narrow { max-width: 27.5rem; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--surface); z-index: 1; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
header { background: var(--surface); border-bottom: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1rem; }
.bar:first-child { min-height: 4.25rem; }
nav { display: flex; flex-wrap: wrap; gap: 0 1.5rem; margin-right: auto; }
nav a { color: var(--muted); font-weight: 600; text-decoration: none; padding: .7rem 0 .5rem;
  border-bottom: 3px solid transparent; }
nav a:hover { color: var(--text); border-color: var(--field); }
nav a[aria-current] { color: var(--text); border-color: var(--accent); }
.switch { display: flex; align-items: center; gap: .5rem; min-width: 0; padding: .4rem 0; }
.switch label { margin: 0; color: var(--muted); font-weight: 400; }
.switch select { min-width: 0; max-width: 14rem; text-overflow: ellipsis; }
.switch .button { min-height: 2.4rem; padding: .3rem .8rem; }
.brand { display: inline-flex; align-items: center; gap: .6rem; color: var(--text); font-weight: 650;
  font-size: 1.1rem; text-decoration: none; }
.brand svg { width: 1.75rem; height: 1.75rem; }
main { flex: 1; padding-bottom: 2.5rem; }
footer { border-top: 1px solid var(--line); color: var(--muted); font-size: .875rem; padding: 1rem 0 1.5rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .35rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 0 0 .9rem; }
p { margin: 0 0 1rem; }
a { color: var(--accent); text-underline-offset: .15em; }
.lead { color: var(--muted); margin-bottom: 1.5rem; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: .9rem; padding: 1.5rem;
  margin: 0 0 1.25rem; }
.card > :last-child { margin-bottom: 0; }
.top { margin-top: 1.75rem; }
label { display: block; font-weight: 600; margin-bottom: .3rem; }
.hint { display: block; color: var(--muted); font-size: .875rem; margin-bottom: .35rem; }
.field { margin-bottom: 1.1rem; }
input:not([type="radio"], [type="checkbox"]), select {
  width: 100%; padding: .6rem .75rem; font: inherit; color: var(--text); background: var(--surface);
  border: 1px solid var(--field); border-radius: .5rem;
}
select { padding: .35rem .5rem; }
.row { display: flex; flex-wrap: wrap; align-items: end; gap: .6rem; }
.row .field { margin: 0; flex: 1 1 14rem; max-width: 26rem; }
fieldset { border: 0; margin: 0 0 .6rem; padding: 0; min-width: 0; }
.field + fieldset, fieldset + fieldset, fieldset + .field { margin-top: 1.1rem; }
legend { padding: 0; margin-bottom: .2rem; font-weight: 600; }
fieldset label { display: flex; gap: .6rem; font-weight: 400; margin: 0; padding: .2rem 0; cursor: pointer; }
fieldset .field { margin: 0 0 .3rem 1.7rem; }
fieldset .field label { padding: 0; }
form:has(#level-session:checked) .where, form:has(#level-userinfo:checked) .where { display: none; }
input[type="radio"], input[type="checkbox"] { flex: none; width: 1.1rem; height: 1.1rem; margin: .2rem 0 0; accent-color: var(--accent); }
.steps:has(#merged:checked) .if-separate, .steps:not(:has(#merged:checked)) .if-merged { display: none; }
.button {
  display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: .55rem 1.2rem;
  font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; text-align: center;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: .5rem;
}
.button:hover { background: var(--accent-strong); border-color: var(--accent-strong); }
.button.quiet { color: var(--accent); background: transparent; border-color: var(--field); }
.button.quiet:hover { background: var(--tint); }
.button.danger { color: var(--danger); background: transparent; border-color: var(--danger); }
.button.danger:hover { background: var(--danger-tint); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.wide { width: 100%; }
.stack > * + * { margin-top: .75rem; }
.or { display: flex; align-items: center; gap: .9rem; color: var(--muted); margin: 1.5rem 0; font-size: .9rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.notice { border-radius: .6rem; padding: .85rem 1.1rem; margin-bottom: 1.25rem; border-left: .3rem solid; }
.notice.bad { background: var(--danger-tint); border-color: var(--danger); }
.notice.good { background: var(--good-tint); border-color: var(--good); }
.notice pre { margin-bottom: 1rem; }
.notice h2 { font-size: 1.05rem; margin: 0 0 .3rem; }
.notice ul { margin: 0; padding-left: 1.1rem; }
.notice.bad a { color: var(--danger); }
.notice > :last-child { margin-bottom: 0; }
blockquote { margin: 0 0 1.25rem; padding: .75rem 1rem; background: var(--sunken); border-radius: .5rem;
  overflow-wrap: anywhere; }
dl { margin: 0; }
dl > div { display: grid; grid-template-columns: 10.5rem 1fr; align-items: baseline; gap: .25rem 1rem; padding: .65rem 0;
  border-top: 1px solid var(--line); }
dl > div:first-child { border-top: 0; padding-top: 0; }
dl > div:last-child { padding-bottom: 0; }
dt { color: var(--muted); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .875em; overflow-wrap: anywhere; }
.list { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem; }
.list li { font-size: .9rem; background: var(--sunken); border: 1px solid var(--line); border-radius: .4rem; padding: .1rem .5rem;
  min-width: 0; overflow-wrap: anywhere; }
.list code { font-size: .8rem; }
.tag { background: var(--tint); border-radius: 1rem; padding: .1rem .7rem; font-weight: 600; white-space: nowrap; }
.tag.bad { background: var(--danger-tint); color: var(--danger); }
.muted { color: var(--muted); }
ol.steps { margin: 0; padding: 0; list-style: none; counter-reset: step; }
ol.steps > li { counter-increment: step; position: relative; padding: 0 0 1.4rem 2.75rem; }
ol.steps > li:last-child { padding-bottom: 0; }
ol.steps > li::before { content: counter(step); position: absolute; left: 0; top: -.1rem; width: 1.8rem;
  height: 1.8rem; line-height: 1.8rem; text-align: center; border-radius: 50%; background: var(--tint);
  color: var(--text); font-weight: 650; font-size: .9rem; }
ol.steps p { margin-bottom: .6rem; }
pre { margin: 0 0 .4rem; padding: .85rem 1rem; background: var(--sunken); border: 1px solid var(--line);
  border-radius: .5rem; line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.copy { user-select: all; -webkit-user-select: all; }
.also { display: block; margin: 0; color: var(--muted); font-size: .8rem; font-weight: 400; }
.sheet { width: 100%; border-collapse: collapse; }
.sheet caption { text-align: left; color: var(--muted); font-size: .875rem; padding-bottom: .4rem; }
.sheet th, .sheet td { border-top: 1px solid var(--line); }
.sheet thead th { border-top: 0; color: var(--muted); font-size: .8rem; font-weight: 600; }
.matrix { margin-top: 1rem; }
.matrix th, .matrix td { padding: .4rem .3rem; text-align: center; }
.matrix th:first-child { width: 48%; padding-left: 0; text-align: left; font-weight: 400; overflow-wrap: anywhere; }
.matrix .yes { color: var(--good); font-weight: 700; }
.rows th, .rows td { padding: .55rem .6rem .55rem 0; text-align: left; vertical-align: top; }
.rows tbody th { font-weight: 400; overflow-wrap: anywhere; }
.sheet + form { margin-top: 1.2rem; }
.rows thead th { white-space: nowrap; }
.rows .more td { border-top: 0; padding: 0 0 .55rem; }
.rows details { margin-top: 0; }
.rows details form { margin-top: .8rem; }
.rows details p { margin-bottom: .5rem; }
.quota td { font-variant-numeric: tabular-nums; }
.quota td:last-child { width: 38%; padding-right: 0; }
.gauge { display: flex; align-items: center; gap: .7rem; }
.gauge > span { flex: none; min-width: 3.4rem; text-align: right; }
progress { -webkit-appearance: none; appearance: none; flex: 1; min-width: 0; height: .7rem; border: 1px solid var(--field);
  border-radius: .4rem; background: var(--sunken); color: var(--accent); overflow: hidden; }
progress::-webkit-progress-bar { background: var(--sunken); }
progress::-webkit-progress-value { background: var(--accent); }
progress::-moz-progress-bar { background: var(--accent); }
.high progress { color: var(--danger); }
.high progress::-webkit-progress-value { background: var(--danger); }
.high progress::-moz-progress-bar { background: var(--danger); }
.high .gauge > span { color: var(--danger); font-weight: 700; }
details { margin-top: .9rem; }
summary { cursor: pointer; color: var(--accent); font-weight: 600; padding: .25rem 0; }
details > :not(summary) { margin-top: .5rem; }
details.card { margin: 0 0 .6rem; padding: .75rem 1.15rem; }
details.card > summary h2 { display: inline; margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
@media (max-width: 34rem) {
  .card { padding: 1.15rem; border-radius: .75rem; }
  dl > div { grid-template-columns: 1fr; gap: 0; }
  dt { font-size: .875rem; }
  .button.stretch { width: 100%; }
  nav { gap: 0 1rem; font-size: .95rem; }
  .switch { width: 100%; }
  .switch select { max-width: none; }
  .sheet, .sheet tbody, .sheet tr, .sheet tbody th, .sheet caption { display: block; }
  .sheet thead { display: none; }
  .sheet tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  .sheet tbody th, .sheet td { border: 0; }
  .matrix tbody th:first-child { width: auto; }
  .matrix tbody th, .matrix td { padding: .1rem 0; }
  .matrix td { display: inline-block; background: var(--good-tint); border-radius: .4rem; padding: .05rem .5rem;
    margin: .2rem .3rem .1rem 0; font-size: .85rem; }
  .matrix td:empty { display: none; }
  .rows tbody th, .rows td { padding: 0 .8rem .1rem 0; }
  .rows td { display: inline-block; }
  .rows .more, .rows .more td { display: block; border: 0; padding-bottom: .3rem; }
  .rows td[data-label]::before { content: attr(data-label) " "; color: var(--muted); font-size: .85rem; }
  .quota td:last-child { display: block; width: auto; }
  .matrix td::before { content: attr(data-verb) " "; }
}
@media (forced-colors: active) { .button, .list li, .tag { border: 1px solid; } }
@media print { header form, nav, .skip, .button { display: none; } }
`;

/** The style sheet as a source expression of a Content Security Policy. */
export const STYLE_HASH = `sha256-${hash('sha256', STYLE, 'base64')}`;

const SHAPE =
  '<rect width="32" height="32" rx="7" fill="#0a5aa8"/><path fill="#fff" d="M6 26V14a10 10 0 0 1 20 0v12h-6V14a4 4 0 0 0-8 0v12z"/><path stroke="#0a5aa8" stroke-width="1.6" d="M6 20h6M20 20h6M16 3.5V10M8.6 6.9l4.4 4.4M23.4 6.9 19 11.300"/>';

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${SHAPE}</svg>\n`;
export const DRAWING = constant(`<svg viewBox="0 0 32 32" aria-hidden="true">${SHAPE}</svg>`);

export const CLIENT_PATH = '/stonegate.cjs';

/** The `stonegate` command of users, one file for Node. */
export interface Client {
  readonly file: Buffer;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** @returns undefined in a checkout in which `npm run build` was not run */
export function readClient(): Client | undefined {
  try {
    const file = readFileSync(new URL('../../../dist/stonegate.cjs', import.meta.url));
    return { file, sha256: hash('sha256', file) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
