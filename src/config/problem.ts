/**
 * Problems of a configuration: the path, the expected value, the value found. No message
 * repeats a value that may be a secret.
 */
import type { z } from 'zod';

export interface Problem {
  /** As an operator would say it: `authentication.jwt[0].issuer.url`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
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

/** Formats a problem as one line for a terminal or a log. */
export function formatProblem(problem: Problem): string {
  const line = problem.line === undefined ? '' : ` (line ${problem.line})`;
  const whole = problem.file === undefined ? 'the configuration' : 'the file';
  const place = problem.file === undefined ? '' : `${problem.file}: `;
  return `${place}${problem.path === '' ? whole : problem.path}${line}: ${problem.message}`;
}

/** Converts a zod issue to findings. */
export function problemsOfIssue(issue: z.core.$ZodIssue): Finding[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) =>
      isBareSecret(issue, key)
        ? { path: issue.path, message: 'has a key that is not known and has no value' }
        : { path: [...issue.path, key], message: 'is no known key' },
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
  const told: unknown = issue.code === 'custom' ? issue.params?.found : undefined;
  if (typeof told === 'string') return told;
  const { code, input, path } = issue;
  if (code === 'too_big' && typeof input === 'string') return `${input.length} characters`;
  return found(input, path);
}

/** As in `password: { hunter2 }`, which YAML reads as a mapping with the key `hunter2`. */
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
