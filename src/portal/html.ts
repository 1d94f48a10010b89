/**
 * The one way to HTML: a template in which everything that is put in is escaped, for text and for quoted attributes
 * alike. What is already HTML can only come from this template.
 * https://html.spec.whatwg.org/multipage/syntax.html#syntax-charref
 */

const brand: unique symbol = Symbol('html');

export interface Html {
  readonly [brand]: true;
  readonly text: string;
}

/** `undefined` and `false` are nothing, so that parts can be left out by `condition && html…`. */
export type Content = Html | string | number | undefined | false | readonly Content[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Attribute values must stand in quotes; scripts and styles must not hold values at all. */
export function html(literals: TemplateStringsArray, ...values: readonly Content[]): Html {
  const text = literals.reduce((made, literal, index) => `${made}${textOf(values[index - 1])}${literal}`);
  return { [brand]: true, text };
}

/** Our own constant, such as a style sheet; never anything from outside. */
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
