/**
 * Which keys and values labels may have, in apimachinery's words.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */

const NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const IS_NAME = new RegExp(`^${NAME}$`);
const IS_VALUE = new RegExp(`^(${NAME})?$`);
const IS_SUBDOMAIN = new RegExp(`^${SUBDOMAIN}$`);

const NAME_RULE = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${NAME}')`;
const VALUE_RULE = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${NAME})?')`;
const SUBDOMAIN_RULE = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`;

const MAX_NAME = 63;
const MAX_SUBDOMAIN = 253;

/** @returns undefined if the key is valid */
export function labelKeyProblem(key: string): string | undefined {
  const parts = key.split('/');
  if (parts.length > 2)
    return `a valid label key ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
  const name = parts.at(-1) ?? '';
  const problems = parts.length === 2 ? prefixProblems(parts[0] ?? '') : [];
  if (name === '') problems.push('name part must be non-empty');
  else if (bytesOf(name) > MAX_NAME) problems.push(`name part must be no more than ${MAX_NAME} characters`);
  if (!matches(IS_NAME, name)) problems.push(`name part ${NAME_RULE}`);
  return problems.length === 0 ? undefined : problems.join('; ');
}

function prefixProblems(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  const problems: string[] = [];
  if (bytesOf(prefix) > MAX_SUBDOMAIN)
    problems.push(`prefix part must be no more than ${MAX_SUBDOMAIN} characters`);
  if (!matches(IS_SUBDOMAIN, prefix)) problems.push(`prefix part ${SUBDOMAIN_RULE}`);
  return problems;
}

/** @returns undefined if the value is valid */
export function labelValueProblem(value: string): string | undefined {
  const problems: string[] = [];
  if (bytesOf(value) > MAX_NAME) problems.push(`must be no more than ${MAX_NAME} characters`);
  if (!matches(IS_VALUE, value)) problems.push(VALUE_RULE);
  return problems.length === 0 ? undefined : problems.join('; ');
}

const MAX_INT64 = 2n ** 63n;

/** Whether Go's `strconv.ParseInt(text, 10, 64)` reads it. */
export function isInt64(text: string): boolean {
  if (!/^[+-]?[0-9]{1,40}$/.test(text)) return false;
  const number = BigInt(text.replace(/^\+/, ''));
  return number >= -MAX_INT64 && number < MAX_INT64;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}

/** What is longer is invalid anyway; the expressions take quadratic time. */
const MAX_MATCHED = 512;

function matches(expression: RegExp, text: string): boolean {
  return text.length <= MAX_MATCHED && expression.test(text);
}
