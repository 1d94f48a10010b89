/**
 * Named formats of text, as Kubernetes' library checks them. A fault in a text is described in one sentence
 * of ours.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-format-library
 */
import { isRequestURI } from '../lib/go-url.ts';
import type { Declarations, Functions } from './declarations.ts';
import { noSuchOverload } from './errors.ts';
import { parseDate } from './times.ts';
import { List, Opaque, Optional, type Value } from './values.ts';

export function declareFormats(declarations: Declarations): void {
  declarations.add(FUNCTIONS);
  for (const name of FORMATS.keys()) {
    declarations.add({
      [`format.${name}(): Format`]: (_, budget) => {
        budget.spend(1);
        return new Opaque(TYPE, name, name);
      },
    });
  }
}

const TYPE = 'kubernetes.NamedFormat';
const LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const LABEL_1035 = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[^\n]\d+)?(?:z|[+-]\d\d:\d\d)$/u;

function upTo(length: number, pattern: RegExp) {
  return (text: string) => text.length <= length && pattern.test(text);
}

/** A hyphen at the end, and the byte before it, stand for what a generated name has there. */
function asPrefix(test: (text: string) => boolean) {
  return (text: string) => test(/[^\u0080-\uffff]-$/.test(text) ? `${text.slice(0, -2)}a` : text);
}

function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? (parts[0] ?? '') : 'a';
  return parts.length <= 2 && upTo(253, SUBDOMAIN)(domain) && upTo(63, NAME)(name);
}

function isDate(text: string): boolean {
  return parseDate(text) !== undefined;
}

/** What follows a second `t` is not looked at. */
function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  return isDate(date) && TIME.test(time);
}

const isLabel = upTo(63, LABEL);
const isSubdomain = upTo(253, SUBDOMAIN);
const isLabel1035 = upTo(63, LABEL_1035);

const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['dns1123Label', isLabel],
  ['dns1123Subdomain', isSubdomain],
  ['dns1035Label', isLabel1035],
  ['qualifiedName', isQualifiedName],
  ['dns1123LabelPrefix', asPrefix(isLabel)],
  ['dns1123SubdomainPrefix', asPrefix(isSubdomain)],
  ['dns1035LabelPrefix', asPrefix(isLabel1035)],
  ['labelValue', (text: string) => text === '' || upTo(63, NAME)(text)],
  ['uri', isRequestURI],
  [
    'uuid',
    (text: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  ],
  ['byte', (text: string) => BASE64.test(text)],
  ['date', isDate],
  ['datetime', isDateTime],
]);

function formatOf(value: Value | undefined): (text: string) => boolean {
  const format = value instanceof Opaque && value.type === TYPE ? FORMATS.get(value.key) : undefined;
  if (format === undefined) throw noSuchOverload('a function of formats');
  return format;
}

const FUNCTIONS: Functions = {
  'format.named(string): optional<Format>': ([name], budget) => {
    budget.spend(1);
    const known = FORMATS.has(String(name));
    return known ? new Optional(new Opaque(TYPE, String(name), name)) : Optional.none;
  },
  'Format.validate(string): optional<list<string>>': ([format, text], budget) => {
    budget.spendPattern(String(text).length, 60);
    if (formatOf(format)(String(text))) return Optional.none;
    return new Optional(new List(['does not match the format'], { ofGoStrings: true }));
  },
};
