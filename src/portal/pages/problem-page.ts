/**
 * A page that says what went wrong and what to do.
 */
import { type Html, html } from '../html.ts';
import type { Problem } from '../problem.ts';
import { layout } from './layout.ts';

export function problemPage({ title, text, quote, action }: Problem, server: string): Html {
  return layout({
    title,
    narrow: true,
    server,
    main: html`<div class="card">
<h1>${title}</h1>
<p>${text}</p>
${quote !== undefined && html`<blockquote>${quote}</blockquote>`}
<p><a class="button stretch" href="${action.target}">${action.label}</a></p>
</div>`,
  });
}
