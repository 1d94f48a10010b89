/**
 * Field selectors of namespaces as the API server parses them, with its messages.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/fields#ParseSelector
 */
import { StatusError } from '../../errors/status-error.ts';
import { MAX_REQUIREMENTS, tooManyRequirements } from './label-selector.ts';

const FIELDS = ['metadata.name', 'status.phase'] as const;
export type NamespaceField = (typeof FIELDS)[number];

export interface FieldRequirement {
  readonly field: NamespaceField;
  readonly value: string;
  readonly negated: boolean;
}

/** All requirements must hold. */
export type FieldSelector = readonly FieldRequirement[];

interface Term {
  readonly field: string;
  readonly negated: boolean;
  readonly value: string;
}

/** @throws StatusError RequestMalformed */
export function parseFieldSelector(text: string): FieldSelector {
  const written = splitTerms(text).filter((term) => term !== '');
  if (written.length > MAX_REQUIREMENTS) throw tooManyRequirements('field');
  const terms = written.map((term) => termOf(term, text));
  return terms.map(({ field, ...rest }) => {
    const known = FIELDS.find((one) => one === field);
    if (known === undefined) throw new StatusError('RequestMalformed', `field label not supported: ${field}`);
    return { field: known, ...rest };
  });
}

export function fieldsMatch(
  selector: FieldSelector,
  values: Readonly<Record<NamespaceField, string>>,
): boolean {
  return selector.every(({ field, value, negated }) => (values[field] === value) !== negated);
}

/** Splits at each comma that no backslash precedes. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === ',') {
      terms.push(text.slice(from, at));
      from = at + 1;
    }
  }
  terms.push(text.slice(from));
  return terms;
}

/** The first operator counts, whatever stands before it. */
function termOf(term: string, text: string): Term {
  const found = /!=|==|=/.exec(term);
  if (found === null)
    throw new StatusError('RequestMalformed', `invalid selector: '${text}'; can't understand '${term}'`);
  return {
    field: term.slice(0, found.index),
    negated: found[0] === '!=',
    value: unescaped(term.slice(found.index + found[0].length)),
  };
}

function unescaped(value: string): string {
  let text = '';
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at] ?? '';
    if (character === '=' || character === ',')
      throw new StatusError(
        'RequestMalformed',
        `invalid field selector: unescaped character in value: ${character.codePointAt(0)}`,
      );
    if (character !== '\\') {
      text += character;
      continue;
    }
    at += 1;
    const escaped = value[at] ?? '';
    if (escaped === '' || !'\\,='.includes(escaped))
      throw new StatusError(
        'RequestMalformed',
        `invalid field selector: invalid escape sequence: \\${escaped}`,
      );
    text += escaped;
  }
  return text;
}
