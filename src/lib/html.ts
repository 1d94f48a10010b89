/**
 * The only way to make HTML: a template that escapes every value for text and quoted attributes. Only its own
 * results count as HTML.
 * https://html.spec.whatwg.org/multipage/syntax.html#syntax-charref
 */

const brand: unique symbol = Symbol('html');

export interface Html {
  readonly [brand]: true;
  readonly text: string;
}

/** `undefined` and `false` render as nothing, for `condition && html…`. */
export type Content = Html | string | number | undefined | false | readonly Content[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Attribute values must be quoted; values must not be put into scripts or styles. */
export function html(literals: TemplateStringsArray, ...values: readonly Content[]): Html {
  const text = literals.reduce((made, literal, index) => `${made}${textOf(values[index - 1])}${literal}`);
  return { [brand]: true, text };
}

/** Takes only constants of this program, such as the style sheet. */
export function constant(text: string): Html {
  return { [brand]: true, text };
}

function textOf(content: Content): string {
  if (content === undefined || content === false) return '';
  if (typeof content === 'string')
    return content.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
  if (typeof content === 'number') return String(content);
  return isList(content) ? content.map(textOf).join('') : content.text;
}

function isList(content: Html | readonly Content[]): content is readonly Content[] {
  return Array.isArray(content);
}
