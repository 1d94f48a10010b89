/**
 * The frame of all pages: language, title, landmarks, style. No script: everything works with links and
 * forms.
 * WCAG 2.2 §2.4.1 (skip link), §2.4.2 (titles), §3.1.1 (language).
 */
import { DRAWING, STYLE } from '../assets.ts';
import { type Content, constant, type Html, html } from '../html.ts';

const STYLE_TEXT = constant(STYLE);

export interface LayoutOptions {
  readonly title: string;
  /** Shown beside the logo to signed-in users. */
  readonly aside?: Content;
  readonly narrow?: boolean;
  readonly main: Content;
  /** The address of the API, in the footer. */
  readonly server: string;
}

export function layout({ title, aside, narrow = false, main, server }: LayoutOptions): Html {
  const wrap = narrow ? 'wrap narrow' : 'wrap';
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
<header><div class="${wrap}"><a class="brand" href="/">${DRAWING}Stonegate</a>${aside}</div></header>
<main id="main" tabindex="-1"><div class="${wrap} top">
${main}
</div></main>
<footer><div class="${wrap}">Kubernetes API: <code>${server}</code></div></footer>
</body>
</html>
`;
}

export function signOutForm(token: string): Html {
  return html`<form method="post" action="/logout"><input type="hidden" name="token" value="${token}"><button class="button quiet" type="submit">Sign out</button></form>`;
}
