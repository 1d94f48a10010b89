/**
 * What pages share: lists, times, the outcome of the last form, forms with their tokens, and fields that keep
 * what was entered. What a button takes away is said before it, in a part that the user opens first.
 * WCAG 2.2 §3.3.1, §3.3.2, §3.3.4.
 */
import { StatusError } from '../errors/status-error.ts';
import { type Content, type Html, html } from '../lib/html.ts';
import { timeInWords } from '../lib/times-in-words.ts';
import type { Forms } from '../proxy/portal-page.ts';

type Entered = Pick<Forms, 'entered' | 'refusal'>;

/** The state of a field that the server has not refused. */
export const NOTHING_ENTERED: Entered = { entered: new URLSearchParams(), refusal: undefined };

export function list(texts: readonly string[]): Html {
  return chips(texts.map((text) => html`<code>${text}</code>`));
}

export function chips(contents: readonly Content[]): Html {
  return html`<ul class="list">${contents.map((content) => html`<li>${content}</li>`)}</ul>`;
}

/** @param time in milliseconds since the epoch, or in RFC 3339 */
export function timeOf(time: string | number, { now }: Pick<Forms, 'now'>): Html {
  const [date, fromNow] = timeInWords(time, now);
  return html`<time datetime="${new Date(time).toISOString()}">${date}, <span class="whole">${fromNow}</span></time>`;
}

/** A long name, which breaks after a separator rather than inside of a word. */
export function breakable(name: string): Html {
  return html`${name.split(/(?<=[:/@.])/).map((part, at) => html`${at > 0 && html`<wbr>`}${part}`)}`;
}

/** A row of a `<dl>`. */
export function described(term: Content, description: Content): Html {
  return html`<div><dt>${term}</dt><dd>${description}</dd></div>\n`;
}

/** @param secret renders a secret that is shown once */
export function outcome({ flash, refusal }: Forms, secret?: (text: string) => Html): Html {
  return html`${refusal && refusedForm(refusal.message)}${
    flash &&
    html`<div class="notice good" role="status"><p>${flash.text}</p>${flash.secret !== undefined && secret?.(flash.secret)}</div>`
  }`;
}

/** @param after what the user may do about it */
export function refusedForm(why: string, after?: Html): Html {
  return html`<div class="notice bad" role="alert" tabindex="-1" autofocus aria-labelledby="problem">
<h2 id="problem">There is a problem</h2>
<p id="why">${why}</p>
${after}</div>`;
}

/** The page for one of its forms: what was entered in another one is not repeated there. */
export function entering<Page extends Forms>(page: Page, action: string): Page {
  return page.entered.get('do') === action ? page : { ...page, ...NOTHING_ENTERED };
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

/** Attributes of a field, which say whether the refusal is about it. */
function stateOf(name: string, { refusal }: Entered, described: readonly string[] = []): Html {
  const causes = refusal?.details?.causes ?? [];
  const isWrong = causes.some(({ field = '' }) => field.split('.').at(-1) === name);
  const describing = [...described, ...(isWrong ? ['why'] : [])].join(' ');
  return html`${isWrong && html` aria-invalid="true"`}${describing !== '' && html` aria-describedby="${describing}"`}`;
}

/** @param at makes ids unique if a page has several fields of one name */
export function textField(page: Entered, field: TextField, at = ''): Html {
  const { name, label, hint, required = false, type = 'text', value = '', autocomplete = 'off' } = field;
  const id = `${name}${at}`;
  const hintID = `${id}-hint`;
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint !== undefined && html`<span class="hint" id="${hintID}">${hint}</span>`}
<input id="${id}" name="${name}" type="${type}"${type !== 'password' && html` value="${page.entered.get(name) ?? value}"`} maxlength="${MAX_LENGTH}" autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false"${type === 'number' && html` min="1" inputmode="numeric"`}${stateOf(name, page, hint === undefined ? [] : [hintID])}${required && html` required`}>
</div>`;
}

/** A choice with its explanation; the first one of a name is chosen at first. */
export function radio(
  { entered }: Entered,
  name: string,
  value: string,
  text: Content,
  isFirst = false,
): Html {
  const chosen = entered.has(name) ? entered.get(name) === value : isFirst;
  return html`<label><input type="radio" id="${name}-${value}" name="${name}" value="${value}"${chosen && html` checked`}> <span>${text}</span></label>\n`;
}

export function checkbox(page: Entered, name: string, value: string, text: Content): Html {
  const checked = page.entered.getAll(name).includes(value);
  return html`<label><input type="checkbox" name="${name}" value="${value}"${checked && html` checked`}${stateOf(name, page)}> <span>${text}</span></label>\n`;
}

export type Options = readonly (readonly [value: string, text: string])[];

/** @param chosen at first */
export function select(
  page: Entered,
  { name, label, options, chosen }: { name: string; label: Content; options: Options; chosen?: string },
  at = '',
): Html {
  const value = page.entered.get(name) ?? chosen;
  return html`<div class="field"><label for="${name}${at}">${label}</label>
<select id="${name}${at}" name="${name}"${stateOf(name, page)}>${options.map(([option, text]) => html`<option value="${option}"${option === value && html` selected`}>${text}</option>`)}</select></div>`;
}

/** @param of what it concerns, for those who hear the page */
export function button(label: string, of?: string, kind = ''): Html {
  return html`<button class="button ${kind}" type="submit"${of !== undefined && html` aria-label="${label} ${of}"`}>${label}</button>`;
}

/** One of several buttons of a form, which sends its own field. */
export function choiceButton([name, value]: readonly [string, string], label: string, kind = ''): Html {
  return html`<button class="button ${kind}" type="submit" name="${name}" value="${value}">${label}</button>`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

export function fold(summary: string, of: string, content: Content): Html {
  return html`<details><summary aria-label="${summary} ${of}">${summary}</summary>${content}</details>`;
}

/** One click selects it all; the script of the portal's pages adds a button. */
export function copied(label: string, text: string): Html {
  return html`<div class="copied"><pre tabindex="0" role="region" aria-label="${label}">${breakable(text)}</pre></div>`;
}

/**
 * What a user has to correct in a form.
 *
 * @param field its name; undefined if it is no field
 */
export function mistake(text: string, field?: string): StatusError {
  return new StatusError(
    'ObjectInvalid',
    text,
    field === undefined ? {} : { details: { causes: [{ field }] } },
  );
}
