/**
 * Namespaces as JSON in each form that the API server has: as objects, as metadata, as rows of a table; in
 * lists and in events. The text of a namespace is made once and shared by all users.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */

import { columnDefinitions } from '../../kubernetes/lists/namespace-columns.ts';
import type { ResponseForm } from '../../kubernetes/lists/response-form.ts';
import type { StoredNamespace } from '../../kubernetes/rbac-v1.ts';
import { goEscaped } from '../../lib/go-json.ts';
import { ageAt } from '../../lib/go-time.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { memoizeByReference } from '../../lib/memoize.ts';

/** The texts of one object, each made when it is first needed. */
class Texts {
  /** The object with `kind` and `apiVersion`. */
  readonly object: string;
  /** The object without `kind` and `apiVersion`, as in a list. */
  readonly item: string;
  #metadata: string | undefined;

  constructor({ json }: Pick<StoredNamespace, 'json'>) {
    this.object = goEscaped(json);
    this.item = this.object.startsWith(TYPE_META) ? `{${this.object.slice(TYPE_META.length)}` : untyped(json);
  }

  get metadata(): string {
    this.#metadata ??= goJSON(parsed(this.object).metadata ?? {});
    return this.#metadata;
  }
}

const TYPE_META = '{"kind":"Namespace","apiVersion":"v1",';
const textsOf = memoizeByReference((namespace: StoredNamespace) => new Texts(namespace));

function untyped(json: string): string {
  const { kind: _kind, apiVersion: _version, ...rest } = parsed(json);
  return goJSON(rest);
}

function parsed(json: string): JSONObject {
  const value: unknown = JSON.parse(json);
  return isJSONObject(value) ? value : {};
}

function goJSON(value: unknown): string {
  return goEscaped(JSON.stringify(value));
}

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
}

export interface FormContext {
  readonly form: ResponseForm;
  /** Milliseconds since the epoch, for ages. */
  readonly now: number;
  /** Whether tables have a column for the tenant, as in Arktos. */
  readonly showsTenant: boolean;
}

export function listText(
  namespaces: readonly StoredNamespace[],
  metadata: ListMeta,
  context: FormContext,
): string {
  const { form } = context;
  const items = namespaces.map((namespace) => itemText(namespace, context)).join(',');
  const meta = goJSON(metadata);
  switch (form.kind) {
    case 'objects':
      return `{"kind":"NamespaceList","apiVersion":"v1","metadata":${meta},"items":[${items}]}\n`;
    case 'metadata':
      return `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${form.version}","metadata":${meta},"items":${items === '' ? 'null' : `[${items}]`}}\n`;
    case 'table':
      return `${tableText(form.version, meta, columnDefinitions(context.showsTenant), items)}\n`;
  }
}

function itemText(namespace: StoredNamespace, context: FormContext): string {
  switch (context.form.kind) {
    case 'objects':
      return textsOf(namespace).item;
    case 'metadata':
      return partialText(namespace, context.form.version);
    case 'table':
      return rowText(namespace, context.form, context);
  }
}

function partialText(namespace: StoredNamespace, version: string): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${textsOf(namespace).metadata}}`;
}

type TableForm = Extract<ResponseForm, { kind: 'table' }>;

function rowText(
  namespace: StoredNamespace,
  { version, include }: TableForm,
  { now, showsTenant }: FormContext,
): string {
  const { name, phase, creationTimestamp, tenant } = namespace;
  const cells = [name, phase, ageAt(now, creationTimestamp), ...(showsTenant ? [tenant] : [])];
  const object =
    include === 'None'
      ? 'null'
      : include === 'Object'
        ? textsOf(namespace).object
        : partialText(namespace, version);
  return `{"cells":${goJSON(cells)},"object":${object}}`;
}

function tableText(version: string, meta: string, columns: string, rows: string): string {
  return `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":${meta},"columnDefinitions":${columns},"rows":[${rows}]}`;
}

/**
 * One line of a watch.
 *
 * @param isFirst the columns of a table are described in the first event only
 */
export function eventText(
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK',
  namespace: StoredNamespace,
  isFirst: boolean,
  context: FormContext,
  resourceVersion = String(namespace.revision),
): string {
  return `{"type":"${type}","object":${eventObject(namespace, resourceVersion, isFirst, context)}}\n`;
}

function eventObject(
  namespace: StoredNamespace,
  resourceVersion: string,
  isFirst: boolean,
  context: FormContext,
): string {
  const { form, showsTenant } = context;
  switch (form.kind) {
    case 'objects':
      return textsOf(namespace).object;
    case 'metadata':
      return partialText(namespace, form.version);
    case 'table': {
      const meta = goJSON({ resourceVersion });
      const columns = isFirst ? columnDefinitions(showsTenant) : 'null';
      return tableText(form.version, meta, columns, rowText(namespace, form, context));
    }
  }
}

/** What the API server sends as a bookmark. @param isEndOfInitialEvents of a WatchList */
export function bookmarkText(
  resourceVersion: string,
  isEndOfInitialEvents: boolean,
  isFirst: boolean,
  context: FormContext,
): string {
  const metadata = {
    resourceVersion,
    ...(isEndOfInitialEvents && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
  };
  const object = { kind: 'Namespace', apiVersion: 'v1', metadata, spec: {}, status: {} };
  const bare: StoredNamespace = {
    resource: 'namespaces',
    tenant: '',
    name: '',
    uid: '',
    revision: 0,
    labels: {},
    phase: '',
    creationTimestamp: '',
    json: JSON.stringify(object),
  };
  return eventText('BOOKMARK', bare, isFirst, context, resourceVersion);
}
