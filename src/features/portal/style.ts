/**
 * The style sheet of the portal's pages. It is part of each page and allowed by its hash, so that page and
 * style cannot be of different versions; text has a contrast of at least 4.5:1, borders of fields 3:1.
 * WCAG 2.2 §1.4.3, §1.4.11, §2.4.7; Media Queries Level 5 (prefers-color-scheme).
 */
import { hash } from 'node:crypto';

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
.wrap { width: 100%; max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
.narrow { max-width: 30rem; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--surface); z-index: 1; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
header { background: var(--surface); border-bottom: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1.5rem; min-height: 3.75rem; }
nav { display: flex; gap: 1.25rem; margin-right: auto; align-self: stretch; overflow-x: auto; scrollbar-width: none; }
nav a { display: flex; align-items: center; color: var(--muted); font-weight: 600; text-decoration: none;
  border-bottom: 3px solid transparent; border-top: 3px solid transparent; }
nav a:hover { color: var(--text); border-bottom-color: var(--field); }
nav a[aria-current] { color: var(--text); border-bottom-color: var(--accent); }
nav a:focus-visible { outline-offset: -3px; }
.own { position: relative; display: flex; align-items: center; gap: .75rem; min-width: 0; margin-left: auto; }
.own .button, .copied .button { min-height: 2.25rem; padding: .2rem .75rem; font-size: .9rem; }
.menu { margin: 0; min-width: 0; }
.menu > summary { max-width: 11rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.menu > form { position: absolute; right: 0; top: 100%; z-index: 1; width: 17rem; max-width: calc(100vw - 2.5rem); padding: 1rem;
  background: var(--surface); border: 1px solid var(--line); border-radius: .6rem; box-shadow: 0 .5rem 1.5rem #0003; }
.menu select { margin-bottom: .75rem; }
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
h1 + .card { margin-top: 1rem; }
label { display: block; font-weight: 600; margin-bottom: .3rem; }
.hint { display: block; color: var(--muted); font-size: .875rem; margin-bottom: .35rem; }
.field { margin-bottom: 1.1rem; }
input:not([type="radio"], [type="checkbox"]), select {
  width: 100%; padding: .6rem .75rem; font: inherit; color: var(--text); background: var(--surface);
  border: 1px solid var(--field); border-radius: .5rem;
}
select { padding: .35rem .5rem; }
[aria-invalid] { border-color: var(--danger); box-shadow: inset 0 0 0 1px var(--danger); }
input[type="checkbox"][aria-invalid] { outline: 2px solid var(--danger); }
.choices { max-height: 13rem; overflow-y: auto; margin: 0 0 .3rem 1.7rem; padding: .3rem .75rem; border: 1px solid var(--line);
  border-radius: .5rem; }
.life { color: var(--muted); font-size: .875rem; white-space: nowrap; }
.life::before { content: "· "; }
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
details + .field { margin-top: 1.1rem; }
.whole { white-space: nowrap; }
details.inline { margin: 0; }
details.inline > summary { padding: 0; font-weight: 400; }
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
ol.steps > li > .copied:last-child { margin-bottom: 0; }
pre { margin: 0; padding: .85rem 1rem; background: var(--sunken); border: 1px solid var(--line);
  border-radius: .5rem; line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere; }
.copied { position: relative; margin: 0 0 .75rem; }
.copied > pre { user-select: all; -webkit-user-select: all; }
.copied:has(.button) > pre { padding-right: 6rem; min-height: 3.25rem; }
.copied > .button { position: absolute; right: .5rem; top: .5rem; background: var(--surface); }
.also { display: block; margin: 0; color: var(--muted); font-size: .8rem; font-weight: 400; }
.sheet { width: 100%; border-collapse: collapse; }
.sheet caption { text-align: left; color: var(--muted); font-size: .875rem; padding-bottom: .4rem; }
.sheet th, .sheet td { border-top: 1px solid var(--line); }
.sheet thead th { border-top: 0; color: var(--muted); font-size: .8rem; font-weight: 600; }
.matrix { margin-top: 1rem; }
.matrix th, .matrix td { padding: .4rem .3rem; text-align: center; }
.matrix th:first-child { width: 48%; padding-left: 0; text-align: left; font-weight: 400; overflow-wrap: anywhere; }
.matrix .yes { color: var(--good); font-weight: 700; }
.rows th, .rows td { padding: .55rem .9rem .55rem 0; text-align: left; vertical-align: top; }
.rows tbody th { width: 42%; font-weight: 400; overflow-wrap: anywhere; }
.rows td { overflow-wrap: break-word; }
.rows td:last-child { padding-right: 0; }
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
details.card { margin: 0 0 .6rem; padding: .75rem 1.5rem; }
details.card > summary h2 { display: inline; margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
.card p, .card .field, .card fieldset { max-width: 44rem; }
@media (max-width: 60rem) {
  .bar:has(nav) { column-gap: 1rem; min-height: 0; }
  .bar:has(nav) > .brand, .own { min-height: 3.25rem; }
  .own { flex: 1 1 0; justify-content: end; }
  nav { order: 1; flex: 1 0 100%; height: 2.75rem; }
}
@media (max-width: 34rem) {
  .card { padding: 1.15rem; border-radius: .75rem; }
  details.card { padding: .75rem 1.15rem; }
  dl > div { grid-template-columns: 1fr; gap: 0; }
  dt { font-size: .875rem; }
  .button.stretch { width: 100%; }
  .wrap { padding: 0 1rem; }
  nav { gap: .35rem; font-size: .75rem; justify-content: space-between; }
  .copied:has(.button) > pre { padding-right: 1rem; }
  .copied > .button { position: static; width: 100%; margin-top: .35rem; }
  .row > .button { flex: 1 1 100%; }
  .sheet, .sheet tbody, .sheet tr, .sheet tbody th, .sheet caption { display: block; }
  .sheet thead { display: none; }
  .sheet tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  .sheet tbody th, .sheet td { border: 0; }
  .matrix tbody th:first-child { width: auto; }
  .matrix tbody th, .matrix td { padding: .1rem 0; }
  .matrix td { display: inline-block; background: var(--good-tint); border-radius: .4rem; padding: .05rem .5rem;
    margin: .2rem .3rem .1rem 0; font-size: .85rem; }
  .matrix td:empty { display: none; }
  .rows tbody th { width: auto; }
  .rows tbody th, .rows td { padding: 0 .8rem .1rem 0; }
  .rows td { display: inline-block; }
  .rows .more, .rows .more td { display: block; border: 0; padding-bottom: .3rem; }
  .rows td[data-label]::before { content: attr(data-label) " "; color: var(--muted); font-size: .85rem; }
  .quota td:last-child { display: block; width: auto; }
  .matrix td::before { content: attr(data-verb) " "; }
}
@media (forced-colors: active) { .button, .list li, .tag { border: 1px solid; } }
@media print { .own, nav, .skip, .button { display: none; } }
`;

/** The style sheet as a source expression of a Content Security Policy. */
export const STYLE_HASH = `sha256-${hash('sha256', STYLE, 'base64')}`;
