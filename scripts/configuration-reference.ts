/**
 * The configuration's schema as JSON Schema, and as the table of docs/reference/configuration.md.
 */
import { z } from 'zod';
import { configurationSchema } from '../src/config/schema.ts';

export const SCHEMA = 'config/schema/stonegate.dev_v1alpha1.json';
export const DOCUMENT = 'docs/reference/configuration.md';

const BEGIN = '<!-- fields: written by npm run schema -->';
const END = '<!-- end of fields -->';

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
}

/** The JSON Schema's text. */
export function jsonSchema(): string {
  return `${JSON.stringify(schema(), null, 2)}\n`;
}

/** Every field as a path, such as `authentication.jwt[].issuer.url`. */
export function fieldPaths(): string[] {
  return rowsOf(schema(), '', true).map(({ path }) => path);
}

/** `docs/reference/configuration.md` with a new table. */
export function withFieldTable(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin === -1 || end === -1) throw new Error(`${DOCUMENT} lacks the markers around its table`);
  const rows = rowsOf(schema(), '', true).map(
    ({ path, node, required }) =>
      `| \`${path}\` | ${typeOf(node)} | ${required ? 'required' : defaultOf(node)} | ${node.description ?? ''} |`,
  );
  const table = ['| field | value | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return `${document.slice(0, begin)}${BEGIN}\n\n${table}\n\n${document.slice(end)}`;
}

function schema(): Node {
  const generated = z.toJSONSchema(
    configurationSchema((name) => name),
    { io: 'input' },
  );
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
  const properties = Object.entries(node.properties ?? {}).flatMap(([key, child]) =>
    rowsOf(child, path === '' ? key : `${path}.${key}`, node.required?.includes(key) ?? false),
  );
  const items = node.items?.properties === undefined ? [] : rowsOf(node.items, `${path}[]`, false).slice(1);
  return [...self, ...properties, ...items];
}

function typeOf(node: Node): string {
  if (node.const !== undefined) return `\`${String(node.const)}\``;
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (node.anyOf !== undefined) return [...new Set(node.anyOf.map(typeOf))].join(' or ');
  if (node.type === 'array') return `list of ${node.items === undefined ? 'values' : typeOf(node.items)}`;
  if (node.type === 'object') return 'mapping';
  return node.type ?? '';
}

function defaultOf(node: Node): string {
  if (node.default === undefined) return '';
  if (Array.isArray(node.default) && node.default.length > 3) return 'all';
  return `\`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``;
}
