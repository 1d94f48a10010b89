/**
 * Lists as tables, which `kubectl get` requests. Columns and cells are those of real servers, in Arktos with
 * its own columns (hash key, tenant); the descriptions are our own and short.
 */
import { isObject, type Json, type JsonObject, objectAt, objectsAt, textAt } from './json.ts';
import type { Flavour, Kind, PrinterColumn } from './kinds.ts';

type Cell = string | number;

interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  /** 1 is shown only with `-o wide`. */
  readonly priority: 0 | 1;
  cell(object: JsonObject): Cell;
}

const text = (name: string, cell: Column['cell'], priority: 0 | 1 = 0): Column => ({
  name,
  type: 'string',
  priority,
  cell,
});
const integer = (name: string, cell: Column['cell']): Column => ({
  name,
  type: 'integer',
  priority: 0,
  cell,
});

const NAME = text('Name', (object) => textAt(objectAt(object, 'metadata'), 'name'));
const AGE = text('Age', (object) => age(textAt(objectAt(object, 'metadata'), 'creationTimestamp')));
const HASH_KEY = integer('HashKey', (object) => numberAt(objectAt(object, 'metadata'), 'hashKey'));
const TENANT = text('Tenant', (object) => textAt(objectAt(object, 'metadata'), 'tenant'));
const PHASE = text('Status', (object) => textAt(objectAt(object, 'status'), 'phase'));

const POD = [
  text('Ready', (pod) => {
    const statuses = objectsAt(objectAt(pod, 'status'), 'containerStatuses');
    const ready = statuses.filter((one) => one.ready === true).length;
    return `${ready}/${objectsAt(objectAt(pod, 'spec'), 'containers').length}`;
  }),
  PHASE,
  integer('Restarts', () => 0),
  AGE,
  text('IP', (pod) => textAt(objectAt(pod, 'status'), 'podIP') || '<none>', 1),
  text('Node', (pod) => textAt(objectAt(pod, 'spec'), 'nodeName') || '<none>', 1),
  text('Nominated Node', () => '<none>', 1),
  text('Readiness Gates', () => '<none>', 1),
];

const COUNT_DATA = (object: JsonObject): Cell => Object.keys(objectAt(object, 'data')).length;

function columnsOf(kind: Kind, flavour: Flavour): Column[] {
  const arktos = flavour === 'arktos';
  switch (`${kind.storageGroup}/${kind.resource}`) {
    case '/namespaces':
      return [NAME, PHASE, AGE, ...(arktos ? [TENANT] : [])];
    case '/pods':
      return [NAME, ...(arktos ? [HASH_KEY] : []), ...POD];
    case '/configmaps':
      return [NAME, integer('Data', COUNT_DATA), AGE];
    case '/secrets':
      return [NAME, text('Type', (secret) => textAt(secret, 'type')), integer('Data', COUNT_DATA), AGE];
    case '/tenants':
      return [
        NAME,
        text('StorageCluster', (tenant) => textAt(objectAt(tenant, 'spec'), 'storageClusterId')),
        PHASE,
        AGE,
      ];
    default:
      return kind.printerColumns?.length ? [NAME, ...kind.printerColumns.map(definedColumn)] : [NAME, AGE];
  }
}

/** A column of a custom resource: dates are shown as ages, and missing values as empty. */
function definedColumn({ name, type, jsonPath, priority }: PrinterColumn): Column {
  return {
    name,
    type: type === 'integer' ? 'integer' : 'string',
    priority: priority === 0 ? 0 : 1,
    cell(object) {
      const value = valuesAt(object, jsonPath)[0];
      if (value === undefined) return '';
      if (type === 'date') return age(String(value));
      return typeof value === 'number' ? value : typeof value === 'string' ? value : JSON.stringify(value);
    },
  };
}

/** `.a.b`, and `.list[?(@.key=="value")].b`. */
const STEP = /\.([\w-]+)(?:\[\?\(@\.(\w+)==["'](\w+)["']\)\])?/y;

function valuesAt(object: JsonObject, jsonPath: string): Json[] {
  STEP.lastIndex = 0;
  let found: Json[] = [object];
  while (STEP.lastIndex < jsonPath.length) {
    const step = STEP.exec(jsonPath);
    if (step === null) throw new Error(`the stand-in does not read the path ${jsonPath}`);
    const [, member = '', key, value] = step;
    found = found
      .filter(isObject)
      .map((parent) => parent[member])
      .filter((child) => child !== undefined);
    if (key === undefined) continue;
    found = found.flatMap((list) => (Array.isArray(list) ? list : []));
    found = found.filter((item) => isObject(item) && item[key] === value);
  }
  return found;
}

/**
 * @param version `v1` or `v1beta1` of meta.k8s.io
 * @param include what each row contains of its object: `Metadata` (the default), `Object` or `None`
 */
export function tableOf(
  kind: Kind,
  flavour: Flavour,
  version: string,
  objects: readonly JsonObject[],
  metadata: JsonObject,
  include: string | null,
): JsonObject {
  const columns = columnsOf(kind, flavour);
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: columns.map(({ name, type, priority }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description: `${name} of the ${kind.kind}`,
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object)),
      ...(include === 'None' ? {} : { object: include === 'Object' ? object : partialOf(object, version) }),
    })),
  };
}

function partialOf(object: JsonObject, version: string): JsonObject {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: objectAt(object, 'metadata'),
  };
}

/**
 * A list of only metadata. Go writes an empty one as null, as was recorded on Arktos.
 *
 * @param version `v1` or `v1beta1` of meta.k8s.io
 */
export function metadataListOf(
  version: string,
  objects: readonly JsonObject[],
  metadata: JsonObject,
): JsonObject {
  const items = objects.length === 0 ? null : objects.map((object) => partialOf(object, version));
  return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata, items };
}

/** The version of the representation that an Accept header requests; undefined if it accepts objects. */
export function versionWanted(
  accept: string,
  form: 'Table' | 'PartialObjectMetadataList',
): string | undefined {
  for (const part of accept.split(',')) {
    const parameters = new Set(part.split(';').map((one) => one.trim()));
    if (!parameters.has(`as=${form}`)) {
      if (parameters.has('application/json') || parameters.has('*/*')) return undefined;
      continue;
    }
    if (!parameters.has('application/json')) continue;
    if (parameters.has('v=v1')) return 'v1';
    if (parameters.has('v=v1beta1')) return 'v1beta1';
  }
  return undefined;
}

function numberAt(object: JsonObject, key: string) {
  const value = object[key];
  return typeof value === 'number' ? value : 0;
}

function age(born: string) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(born)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
