/**
 * The frame of all pages: language, title, landmarks, style, and the header of a user who has signed in: one
 * row on a desktop, two on a phone. Everything works without the script.
 * WCAG 2.2 §2.4.1 (skip link), §2.4.2 (titles), §3.1.1 (language).
 */
import { type Content, constant, type Html, html } from '../../../lib/html.ts';
import { DRAWING } from '../assets.ts';
import { COPY_SCRIPT } from '../copy-script.ts';
import type { ProjectName } from '../portal-storage.ts';
import { STYLE } from '../style.ts';

const STYLE_TEXT = constant(STYLE);
const SCRIPT_TEXT = constant(COPY_SCRIPT);

export interface ProjectChoice {
  readonly formToken: string;
  /** The page after it. */
  readonly next: string;
  /** The id; undefined if the user has signed in without a project. */
  readonly current: string | undefined;
  readonly projects: readonly ProjectName[];
}

/** Every page shows this to a user who has signed in. */
export interface Navigation {
  /** The path of the page. */
  readonly path: string;
  readonly signOutToken: string;
  /** The pages that there are, with what links to them say. */
  readonly pages: readonly { readonly path: string; readonly label: string }[];
  /** Undefined if the user cannot switch to another project. */
  readonly choice: ProjectChoice | undefined;
}

export interface LayoutOptions {
  /** The address of the API, in the footer. */
  readonly server: string;
  /** Undefined before sign-in. */
  readonly navigation: Navigation | undefined;
  readonly title: string;
  readonly narrow?: boolean;
  readonly main: Content;
}

export function layout({ title, navigation, narrow = false, main, server }: LayoutOptions): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} – Stonegate</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<style>${STYLE_TEXT}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><div class="wrap bar"><a class="brand" href="/">${DRAWING}<span>Stonegate</span></a>
${
  navigation &&
  html`<nav aria-label="Pages">${links(navigation)}</nav>
<div class="own">${navigation.choice && projectMenu(navigation.choice)}${signOutForm(navigation)}</div>`
}
</div></header>
<main id="main" tabindex="-1"><div class="${narrow ? 'wrap narrow' : 'wrap'} top">
${main}
</div></main>
<footer><div class="wrap">Kubernetes API: <code>${server}</code></div></footer>
<script>${SCRIPT_TEXT}</script>
</body>
</html>
`;
}

function signOutForm({ signOutToken }: Navigation): Html {
  return html`<form method="post" action="/logout"><input type="hidden" name="token" value="${signOutToken}"><button class="button quiet" type="submit">Sign out</button></form>`;
}

function links({ path, pages }: Navigation): Content {
  return pages.map(
    (page) =>
      html`<a href="${page.path}"${page.path === path && html` aria-current="page"`}>${page.label}</a>\n`,
  );
}

function projectMenu({ formToken, next, current, projects }: ProjectChoice): Html {
  const name = projects.find(({ id }) => id === current)?.name ?? 'No project';
  return html`<details class="menu"><summary><span class="unseen">Switch project: </span>${name}</summary><form method="post" action="/project">
<input type="hidden" name="token" value="${formToken}">
<input type="hidden" name="next" value="${next}">
<label for="switch">Project</label>
<select id="switch" name="project" required>
${current === undefined && html`<option value="" selected>none</option>`}
${projects.map(({ id, name }) => {
  const isUnique = projects.every((other) => other.id === id || other.name !== name);
  return html`<option value="${id}"${id === current && html` selected`}>${name}${!isUnique && ` (${id})`}</option>\n`;
})}</select>
<button class="button" type="submit">Switch</button>
</form></details>`;
}
