/**
 * What pages share: lists, times, what came of the last form, forms with their tokens, and fields that keep
 * what was entered. What a button takes away is said before it, in a part that the user opens first.
 * WCAG 2.2 §3.3.1, §3.3.2, §3.3.4.
 */
import type { StatusError } from '../../../errors/status-error.ts';
import type { Flash } from '../flash.ts';
import { type Content, type Html, html } from '../html.ts';

/** The state of a page's forms. */
export interface Forms {
  /** Where they are posted: the page itself, with its query. */
  readonly target: string;
  readonly formToken: string;
  readonly flash: Flash | undefined;
  /** Why the last form was not done. */
  readonly refusal: Pick<StatusError, 'message' | 'details'> | undefined;
  /** What was entered in a form that was refused; else empty. */
  readonly entered: URLSearchParams;
}

const TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/**
 * The time in UTC, because the server does not know the user's time zone: `21 November 2026 at 03:15
 * UTC`.
 *
 * @param time in RFC 3339, or in milliseconds since the epoch
 */
export function formatTime(time: string | number): string {
  return `${TIME_FORMAT.format(new Date(time))} UTC`;
}

export function list(texts: readonly string[]): Html {
  return chips(texts.map((text) => html`<code>${text}</code>`));
}

export function chips(contents: readonly Content[]): Html {
  return html`<ul class="list">${contents.map((content) => html`<li>${content}</li>`)}</ul>`;
}

/** A row of a `<dl>`. */
export function described(term: Content, description: Content): Html {
  return html`<div><dt>${term}</dt><dd>${description}</dd></div>\n`;
}

/** @param secret renders a secret that is shown once */
export function outcome({ flash, refusal }: Forms, secret?: (text: string) => Html): Html {
  return html`${refusal && notDone(refusal.message)}${
    flash &&
    html`<div class="notice good" role="status"><p>${flash.text}</p>${flash.secret !== undefined && secret?.(flash.secret)}</div>`
  }`;
}

/** @param after what the user may do about it */
export function notDone(why: string, after?: Html): Html {
  return html`<div class="notice bad" role="alert" tabindex="-1" autofocus aria-labelledby="problem">
<h2 id="problem">This was not done</h2>
<p>${why}</p>
${after}</div>`;
}

/** The page for one of its forms: what was entered in another one is not repeated there. */
export function entering<Page extends Forms>(page: Page, action: string): Page {
  return page.entered.get('do') === action ? page : { ...page, entered: new URLSearchParams() };
}

/** @param action which of the page's forms it is */
export function form({ target, formToken }: Forms, action: string, content: Content): Html {
  return html`<form method="post" action="${target}">
<input type="hidden" name="token" value="${formToken}"><input type="hidden" name="do" value="${action}">
${content}</form>`;
}

/** Of all lists of a page together. */
export const MAX_ROWS = 200;

/** The most characters that a field takes. */
export const MAX_LENGTH = 1_024;

export interface TextField {
  readonly name: string;
  readonly label: Content;
  readonly hint?: string;
  readonly required?: boolean;
  readonly type?: 'text' | 'email' | 'number' | 'password';
  readonly value?: string | undefined;
  /** What browsers fill in. */
  readonly autocomplete?: string;
}

/** @param at makes ids unique if a page has several fields of one name */
export function textField({ entered }: Pick<Forms, 'entered'>, field: TextField, at = ''): Html {
  const { name, label, hint, required = false, type = 'text', value = '', autocomplete = 'off' } = field;
  const id = `${name}${at}`;
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}
<input id="${id}" name="${name}" type="${type}"${type !== 'password' && html` value="${entered.get(name) ?? value}"`} maxlength="${MAX_LENGTH}" autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false"${type === 'number' && html` min="1" inputmode="numeric"`}${hint !== undefined && html` aria-describedby="${id}-hint"`}${required && html` required`}>
</div>`;
}

/** A choice with its explanation; the first one of a name is chosen at first. */
export function radio({ entered }: Forms, name: string, value: string, text: Content, isFirst = false): Html {
  const chosen = entered.has(name) ? entered.get(name) === value : isFirst;
  return html`<label><input type="radio" id="${name}-${value}" name="${name}" value="${value}"${chosen && html` checked`}> <span>${text}</span></label>\n`;
}

export function checkbox({ entered }: Forms, name: string, value: string, text: Content): Html {
  const checked = entered.getAll(name).includes(value);
  return html`<label><input type="checkbox" name="${name}" value="${value}"${checked && html` checked`}> <span>${text}</span></label>\n`;
}

export function select(
  name: string,
  label: Content,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string | null,
  at = '',
): Html {
  return html`<div class="field"><label for="${name}${at}">${label}</label>
<select id="${name}${at}" name="${name}">${options.map(([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`)}</select></div>`;
}

/** @param of what it concerns, for those who hear the page */
export function button(label: string, of?: string, kind = ''): Html {
  return html`<button class="button ${kind}" type="submit"${of !== undefined && html` aria-label="${label} ${of}"`}>${label}</button>`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

export function fold(summary: string, of: string, content: Content): Html {
  return html`<details><summary aria-label="${summary} ${of}">${summary}</summary>${content}</details>`;
}

/** One click selects it all. */
export function copied(label: string, text: string): Html {
  return html`<pre class="copy" tabindex="0" role="region" aria-label="${label}">${text}</pre>`;
}
