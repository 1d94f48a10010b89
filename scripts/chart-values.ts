/**
 * The schema of the chart's values and the table of docs/reference/chart.md. Both come from values.yaml: the
 * comment above a value is its description, its type is that of the default, and `@schema` in the comment
 * adds to it. The schema of `configuration` is the configuration's own, without what the chart fills in.
 */
import { readFileSync } from 'node:fs';
import { isMap, isNode, parse, parseDocument } from 'yaml';
import { jsonSchema, withTable } from './configuration-reference.ts';

export const CHART_SCHEMA = 'config/charts/stonegate/values.schema.json';
export const CHART_DOCUMENT = 'docs/reference/chart.md';
/** The chart can read only its own files: source → copy. */
export const CHART_COPIES = [
  ['config/alerts/stonegate.yaml', 'config/charts/stonegate/files/alerts.yaml'],
  ['config/dashboards', 'config/charts/stonegate/files/dashboards'],
] as const;
const VALUES = 'config/charts/stonegate/values.yaml';

interface Value {
  readonly key: string;
  readonly default: unknown;
  readonly description: string;
  /** What `@schema` says. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The values of a section; empty for a single value. */
  readonly values: readonly Value[];
}

function readValues(): Value[] {
  return valuesIn(parseDocument(readFileSync(VALUES, 'utf8')).contents);
}

function valuesIn(node: unknown): Value[] {
  if (!isMap(node)) return [];
  return node.items.map(({ key, value }, at) => {
    // The parser gives the comment above the first key to the mapping.
    const comment = (isNode(key) && key.commentBefore) || (at === 0 && node.commentBefore) || '';
    const [description = '', schema = '{}'] = comment
      .split('\n\n')
      .slice(-1)
      .flatMap((part) => part.split(/^ @schema/m))
      .map((part) => part.trim());
    const values = valuesIn(value);
    return {
      key: String(key),
      default: isNode(value) ? value.toJSON() : value,
      description: description.replace(/\n */g, ' '),
      schema: parse(schema),
      values,
    };
  });
}

function schemaOf({ default: value, description, schema, values }: Value): object {
  const own =
    values.length > 0 && schema.type === undefined ? sectionSchema(values) : { type: typeOf(value) };
  return { ...(description !== '' && { description }), ...own, ...schema };
}

function sectionSchema(values: readonly Value[]) {
  const properties = Object.fromEntries(values.map((value) => [value.key, schemaOf(value)]));
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'integer' : typeof value;
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
}

/** Filled in by the chart if they are missing: section → fields that are not required there. */
const FILLED_IN: Readonly<Record<string, readonly string[]>> = {
  '': ['apiVersion', 'kind', 'server', 'upstream', 'tenancy', 'authentication'],
  // Required by a template: `helm lint` without values passes.
  tenancy: ['mode'],
  server: ['tls'],
  upstream: ['server', 'credential'],
  'cache.redis': ['url'],
  portal: ['tls'],
  webhook: ['tls'],
  admission: ['tls'],
};

/** The text of values.schema.json. */
export function chartSchema(): string {
  const { $schema, title: _, ...configuration } = withoutRequired(JSON.parse(jsonSchema()), '');
  const values = sectionSchema(readValues());
  const schema = {
    $schema,
    title: 'Values of the chart stonegate',
    ...values,
    properties: {
      ...values.properties,
      configuration: {
        ...values.properties.configuration,
        ...configuration,
      },
      global: { type: 'object', description: 'Values of a parent chart; unused.' },
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function withoutRequired(node: Node & { $schema?: string; title?: string }, path: string): typeof node {
  const { properties, required, ...rest } = node;
  const remaining = required?.filter((name) => !FILLED_IN[path]?.includes(name)) ?? [];
  const below = Object.entries(properties ?? {}).map(([name, child]) => [
    name,
    withoutRequired(child, path === '' ? name : `${path}.${name}`),
  ]);
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(below) }),
    ...(remaining.length === 0 ? {} : { required: remaining }),
  };
}

/** The document with a new table of the chart's values. */
export function withValuesTable(document: string): string {
  const head = ['| value | default | meaning |', '| --- | --- | --- |'];
  return withTable(document, 'values', [...head, ...rowsOf(readValues(), '')]);
}

/** A section whose values are described has a row for each of them, else one of its own. */
function rowsOf(values: readonly Value[], path: string): string[] {
  return values.flatMap(({ key, default: value, description, values: below }) =>
    below.some((each) => each.description !== '')
      ? rowsOf(below, `${path}${key}.`)
      : [`| \`${path}${key}\` | \`${JSON.stringify(value)}\` | ${description} |`],
  );
}
