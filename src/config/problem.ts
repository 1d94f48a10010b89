/**
 * Problems of a configuration: the path, the expected value, the value found. No message
 * repeats a value that may be a secret.
 */
import { z } from 'zod';
import { didYouMean } from '../lib/did-you-mean.ts';
import { isJSONObject } from '../lib/json-object.ts';

export interface Problem {
  /** The path of the field: `authentication.jwt[0].issuer.url`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
  /** Column in the line, from 1, if the file cannot be parsed. */
  readonly column?: number;
  /** The name of the file, if it is not the configuration itself. */
  readonly file?: string;
}

export type Path = readonly PropertyKey[];

/** A problem without a line and a formatted path. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
  /** The problem in the other file in which it can be fixed; `path` is then the field that names the file. */
  readonly elsewhere?: Problem;
}

/** The path at which a broken rule is reported. */
export type Rule = readonly [path: string | Path, isBroken: boolean, message: string];

export function broken(rules: readonly Rule[]): Finding[] {
  return rules
    .filter(([, isBroken]) => isBroken)
    .map(([path, , message]) => ({ path: typeof path === 'string' ? path.split('.') : path, message }));
}

/** `['authentication', 'jwt', 0, 'issuer']` → `authentication.jwt[0].issuer`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return text;
}

/** A message names at most so many of what is missing. */
const NAMED = 5;

/** Lists what is missing for a message, and says how many more there are. */
export function someOf(missing: readonly string[]): string {
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : '';
  return `${missing.slice(0, NAMED).join(', ')}${more}`;
}

/** Formats a problem as one line for a terminal or a log. */
export function formatProblem(problem: Problem): string {
  const column = problem.column === undefined ? '' : `, column ${problem.column}`;
  const line = problem.line === undefined ? '' : ` (line ${problem.line}${column})`;
  const whole = problem.file === undefined ? 'the configuration' : 'the file';
  const place = problem.file === undefined ? '' : `${problem.file}: `;
  return `${place}${problem.path === '' ? whole : problem.path}${line}: ${problem.message}`;
}

/** With these `problemsOfIssue` knows the value, and the keys where an unknown one was found. */
export const PARSE_OPTIONS: z.core.ParseContext<z.core.$ZodIssue> = {
  reportInput: true,
  error: ({ code, inst }) =>
    code === 'unrecognized_keys' && inst instanceof z.ZodObject
      ? Object.keys(inst.shape).join(' ')
      : undefined,
};

/**
 * @param issue whose message is a predicate of the schema, which begins with "is"; or the known keys, if it
 *   was parsed with `PARSE_OPTIONS`
 */
function unknownKey({ message }: z.core.$ZodIssue, key: string): string {
  if (message.startsWith('is ')) return message;
  const meant = message.startsWith('Unrecognized') ? '' : didYouMean(key, message.split(' '));
  return `is no known key${meant}`;
}

/** Converts a zod issue to findings. */
export function problemsOfIssue(issue: z.core.$ZodIssue): Finding[] {
  if (issue.code === 'invalid_union') return problemsOfForms(issue);
  if (issue.code === 'custom' && issue.params?.isSentence === true)
    return [{ path: issue.path, message: issue.message }];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) =>
      isBareSecret(issue, key)
        ? { path: issue.path, message: 'has a key that is not known and has no value' }
        : { path: [...issue.path, key], message: unknownKey(issue, key) },
    );
  }
  if (issue.input === undefined) {
    return [{ path: issue.path, message: `is required: expected ${expectation(issue)}` }];
  }
  return [
    {
      path: issue.path,
      message: `expected ${expectation(issue)}, found ${foundBy(issue)}`,
    },
  ];
}

/**
 * A value that must have one of several forms. If its keys are those of one form, the problems of that form
 * are reported.
 */
function problemsOfForms(issue: z.core.$ZodIssueInvalidUnion): Finding[] {
  const { input, path, errors, message } = issue;
  if (input === undefined) return [{ path, message: `is required: expected ${message}` }];
  const within = (nested: z.core.$ZodIssue) => ({ ...nested, path: [...path, ...nested.path] });
  const fitting = errors.find((issues) => !issues.some(isAboutForm));
  if (fitting !== undefined) return fitting.flatMap((nested) => problemsOfIssue(within(nested)));
  if (!isJSONObject(input)) return [{ path, message: `expected ${message}, found ${foundBy(issue)}` }];
  const ofForms = errors.map((issues) =>
    issues.flatMap((nested) =>
      nested.code === 'unrecognized_keys' && nested.path.length === 0 ? [nested] : [],
    ),
  );
  const [first = [], ...others] = ofForms.map((issues) => issues.flatMap(({ keys }) => keys));
  const unknown = first.filter((key) => others.every((keys) => keys.includes(key)));
  if (unknown.length > 0) {
    const known = ofForms.flatMap((issues) => issues.map((nested) => nested.message)).join(' ');
    return problemsOfIssue({ code: 'unrecognized_keys', keys: unknown, path, input, message: known });
  }
  // No key is a misplaced secret: each is one of a form.
  const keys = Object.keys(input);
  const found = keys.length > 0 ? `{ ${keys.join(', ')} }` : 'an empty mapping';
  return [{ path, message: `expected ${message}, found ${found}` }];
}

/** Whether a value has another type, an unknown key or lacks one. */
function isAboutForm({ code, path, input }: z.core.$ZodIssue): boolean {
  if (path.length === 0) return ['invalid_type', 'invalid_value', 'unrecognized_keys'].includes(code);
  return path.length === 1 && input === undefined;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.startsWith('Invalid input')
        ? (TYPE_NAMES[issue.expected] ?? issue.expected)
        : issue.message;
    case 'invalid_value':
      return issue.message.startsWith('Invalid')
        ? issue.values.map((value) => JSON.stringify(value)).join(' or ')
        : issue.message;
    case 'too_small':
      return issue.origin === 'array' ? 'a list that is not empty' : `at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string' ? issue.message : `at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** Fields that hold a secret, or in which an operator may write one by mistake. */
const SECRET_PLACES =
  /secret|password|sealingKeys|redis\.url|fromFile|fromEnv|(tokenFile|keyFile|basicAuthFile)(\.file)?$/i;

/** The length for text that is too long; the keys for a mapping in no allowed form; otherwise the value. */
function foundBy(issue: z.core.$ZodIssue): string {
  const given: unknown = issue.code === 'custom' ? issue.params?.found : undefined;
  if (typeof given === 'string') return given;
  const { code, input, path } = issue;
  if (code === 'too_big' && typeof input === 'string') return `${input.length} characters`;
  return found(input, path);
}

/** Detects `password: { hunter2 }`, which YAML reads as a mapping with the key `hunter2`. */
function isBareSecret({ input, path }: z.core.$ZodIssue, key: string): boolean {
  const valued = Object.entries(input ?? {}).some(([name, value]) => name === key && value !== null);
  return mayBeSecret(path) && !valued;
}

function mayBeSecret(path: Path): boolean {
  return SECRET_PLACES.test(formatPath(path));
}

/** Describes the value; only its type if it may be or contain a secret. */
function found(value: unknown, path: Path): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (value === '') return 'an empty string';
  const secret = mayBeSecret(path);
  if (typeof value !== 'string') return secret ? `a ${typeof value}` : String(value);
  if (secret || value.length > 60 || /[@\n]/.test(value)) return 'a string that does not fit';
  return JSON.stringify(value);
}
