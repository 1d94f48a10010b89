/**
 * The configuration's schema as JSON Schema, and as the table of docs/reference/configuration.md.
 */
import { z } from 'zod';
import { configurationSchema } from '../src/app/configuration.ts';

export const SCHEMA = 'config/schema/stonegate.dev_v1alpha1.json';
export const DOCUMENT = 'docs/reference/configuration.md';

interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly additionalProperties?: Node | false;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

/** The JSON Schema's text. */
export function jsonSchema(): string {
  return `${JSON.stringify(schema(), null, 2)}\n`;
}

/** Every field as a path, such as `authentication.jwt[].issuer.url`. */
export function fieldPaths(): string[] {
  return rowsOf(schema(), '', true).map(({ path }) => path);
}

/** Rows of the fields of a resource at `path`. */
export function schemaRows(field: z.ZodType, path: string): string[] {
  const generated: Node = JSON.parse(JSON.stringify(z.toJSONSchema(field, { io: 'input' })));
  return rowsOf(generated, path, true).map(
    ({ path, node, required }) =>
      `| \`${path}\` | ${typeOf(node)}${required ? '' : ', optional'} | ${node.description ?? ''} |`,
  );
}

/** `docs/reference/configuration.md` with a new table. */
export function withFieldTable(document: string): string {
  const rows = rowsOf(schema(), '', true).map(
    ({ path, node, required }) =>
      `| \`${path}\` | ${typeOf(node)} | ${required ? 'required' : defaultOf(node)} | ${node.description ?? ''} |`,
  );
  const head = ['| field | value | default | meaning |', '| --- | --- | --- | --- |'];
  return withTable(document, 'fields', [...head, ...rows]);
}

/**
 * Replaces the table of a document.
 *
 * @param name in the comments before and behind the table
 */
export function withTable(document: string, name: string, lines: readonly string[]): string {
  const begin = `<!-- ${name}: written by npm run schema -->`;
  const end = `<!-- end of ${name} -->`;
  const [before, rest = ''] = document.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`the document lacks the comments around its ${name}`);
  return `${before}${begin}\n\n${lines.join('\n')}\n\n${end}${after}`;
}

function schema(): Node {
  const generated = z.toJSONSchema(configurationSchema, { io: 'input' });
  // Omits the default `{}` of optional mappings: the defaults of their fields are listed.
  const text = JSON.stringify({ title: 'StonegateConfiguration', ...generated }, (key, value) =>
    key === 'default' && JSON.stringify(value) === '{}' ? undefined : value,
  );
  return JSON.parse(text);
}

interface Row {
  readonly path: string;
  readonly node: Node;
  readonly required: boolean;
}

function rowsOf(node: Node, path: string, required: boolean): Row[] {
  const self = path === '' ? [] : [{ path, node, required }];
  const forms = formsOf(node);
  const properties = forms.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).flatMap(([key, child]) =>
      // Which field of several forms is required depends on the others.
      rowsOf(child, path === '' ? key : `${path}.${key}`, forms.length === 1 && required.includes(key)),
    ),
  );
  const items = node.items === undefined ? [] : rowsOf(node.items, `${path}[]`, false).slice(1);
  // A field of several forms is listed once.
  return [...new Map([...self, ...properties, ...items].map((row) => [row.path, row])).values()];
}

function formsOf(node: Node): readonly Node[] {
  return node.oneOf ?? node.anyOf ?? [node];
}

function typeOf(node: Node): string {
  if (node.const !== undefined) return `\`${String(node.const)}\``;
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  const forms = formsOf(node);
  if (forms.length > 1) return [...new Set(forms.map(typeOf))].join(' or ');
  if (node.type === 'array') return `list of ${(node.items && typeOf(node.items)) || 'values'}`;
  if (node.type === 'object') return 'mapping';
  return node.type ?? '';
}

function defaultOf(node: Node): string {
  if (node.default === undefined) return '';
  if (Array.isArray(node.default) && node.default.length > 3) return 'all';
  return `\`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``;
}
