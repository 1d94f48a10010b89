/**
 * Answers for a kind of which a tenant has at most one object: a list, or the object by its name, in the
 * forms of the API server. The object is fetched as Stonegate itself, since users may not read it there, and
 * is reduced to what the tenant may see.
 */
import { StatusError } from '../../errors/status-error.ts';
import { invalidContinue } from '../../kubernetes/lists/continue-token.ts';
import { fieldsMatch, parseFieldSelector } from '../../kubernetes/lists/field-selector.ts';
import { labelsMatch, parseLabelSelector } from '../../kubernetes/lists/label-selector.ts';
import { readListOptions } from '../../kubernetes/lists/list-options.ts';
import { ARKTOS_AGE, ARKTOS_NAME, type Column } from '../../kubernetes/lists/namespace-columns.ts';
import { isPretty, type ResponseForm, responseForm } from '../../kubernetes/lists/response-form.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { ageAt } from '../../lib/go-time.ts';
import { isJSONObject, type JSONObject, readJSON } from '../../lib/json-object.ts';
import type { Outgoing } from '../request-context.ts';
import { JSON_HEADERS } from './own-responses.ts';

/** An object without its kind and version, as the tenant sees it. */
export interface SingleObject {
  readonly metadata: SingleObjectMeta;
  readonly spec: object;
  readonly status: object;
}

export interface SingleObjectMeta {
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly creationTimestamp: string;
}

export interface SingleObjectKind<T extends SingleObject> {
  readonly apiVersion: string;
  readonly kind: string;
  /** The name of the resource, in the plural. */
  readonly resource: string;
  /** The columns of its table between the name and the age. */
  readonly columns: readonly (Column & { readonly cell: (object: T) => string })[];
  /** What the field selector `status.phase` compares; absent: an empty text. */
  readonly phase?: (object: T) => string;
  /** Reads what the API server has; undefined for what is no such object. */
  readonly read: (object: JSONObject, metadata: SingleObjectMeta) => T | undefined;
  /** Fetches the tenant's object as Stonegate itself. */
  readonly fetch: (tenant: TenantName, signal: AbortSignal) => Promise<UpstreamResponse>;
}

/**
 * @param name of the object; undefined for the list
 * @param now milliseconds since the epoch, for the age
 * @throws StatusError NotFound, and what `fetchSingleObject` and invalid options throw
 */
export async function answerSingleObject<T extends SingleObject>(
  outgoing: Outgoing,
  name: string | undefined,
  kind: SingleObjectKind<T>,
  now: number,
): Promise<UpstreamResponse> {
  const { exchange, info } = outgoing;
  // The request is validated before the API server is asked.
  const form = responseForm(exchange.headers, info.rawQuery, {
    verb: name === undefined ? 'list' : 'get',
    kind: kind.kind,
  });
  const document =
    name === undefined
      ? listDocument(kind, await selected(outgoing, kind), form, now)
      : objectDocument(kind, await named(outgoing, kind, name), form, now);
  const indent = isPretty(exchange.headers, info.rawQuery) ? 2 : 0;
  const body = Buffer.from(`${JSON.stringify(document, null, indent)}\n`);
  return { status: 200, headers: JSON_HEADERS, body };
}

/** Selectors see what the user sees: an object without labels. */
async function selected<T extends SingleObject>(
  { tenant, info, exchange }: Outgoing,
  kind: SingleObjectKind<T>,
): Promise<readonly T[]> {
  const options = readListOptions(info.rawQuery, 'list');
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector);
  if (options.continue !== '') throw invalidContinue();
  const object = await fetchSingleObject(kind, tenant, exchange.signal);
  if (object === undefined) return [];
  const values = { 'metadata.name': object.metadata.name, 'status.phase': kind.phase?.(object) ?? '' };
  return labelsMatch(labels, {}) && fieldsMatch(fields, values) ? [object] : [];
}

async function named<T extends SingleObject>(
  { tenant, exchange }: Outgoing,
  kind: SingleObjectKind<T>,
  name: string,
): Promise<T> {
  const object = name === tenant ? await fetchSingleObject(kind, tenant, exchange.signal) : undefined;
  if (object !== undefined) return object;
  const { resource, apiVersion } = kind;
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  const plural = group === undefined ? resource : `${resource}.${group}`;
  throw new StatusError('NotFound', `${plural} ${JSON.stringify(name)} not found`, {
    details: { name, kind: resource, ...(group && { group }) },
  });
}

/**
 * @returns undefined if the tenant has none
 * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
 */
export async function fetchSingleObject<T extends SingleObject>(
  kind: SingleObjectKind<T>,
  tenant: TenantName,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { status, body } = await kind.fetch(tenant, signal);
  if (status === 404) return undefined;
  // No user is on the request, so the refusal is about Stonegate's own rights.
  if (status === 403)
    throw new StatusError(
      'UpstreamRefusedCredential',
      `the API server does not let Stonegate read ${kind.resource}; its operator applies what \`stonegate manifests rbac --config FILE\` prints`,
    );
  const object = status === 200 ? readObject(kind, readJSON(body), tenant) : undefined;
  if (object !== undefined) return object;
  throw new StatusError('UpstreamUnavailable', `the API server's answer about ${kind.resource} is unusable`, {
    cause: `its status was ${status}`,
  });
}

function readObject<T extends SingleObject>(
  kind: SingleObjectKind<T>,
  object: unknown,
  name: string,
): T | undefined {
  if (!isJSONObject(object) || object.kind !== kind.kind || !isJSONObject(object.metadata)) return undefined;
  const { uid, creationTimestamp } = object.metadata;
  if (object.metadata.name !== name || typeof uid !== 'string' || typeof creationTimestamp !== 'string')
    return undefined;
  return kind.read(object, { name, uid, creationTimestamp });
}

function objectDocument<T extends SingleObject>(
  kind: SingleObjectKind<T>,
  object: T,
  form: ResponseForm,
  now: number,
): object {
  switch (form.kind) {
    case 'objects':
      return { kind: kind.kind, apiVersion: kind.apiVersion, ...object };
    case 'metadata':
      return partialOf(object, form.version);
    case 'table':
      return tableOf(kind, [object], form, now);
  }
}

function listDocument<T extends SingleObject>(
  kind: SingleObjectKind<T>,
  items: readonly T[],
  form: ResponseForm,
  now: number,
): object {
  switch (form.kind) {
    case 'objects':
      return { kind: `${kind.kind}List`, apiVersion: kind.apiVersion, metadata: {}, items };
    case 'metadata': {
      const { version } = form;
      const partials = items.map((object) => partialOf(object, version));
      const apiVersion = `meta.k8s.io/${version}`;
      return { kind: 'PartialObjectMetadataList', apiVersion, metadata: {}, items: partials };
    }
    case 'table':
      return tableOf(kind, items, form, now);
  }
}

function partialOf({ metadata }: SingleObject, version: string): object {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}

type TableForm = Extract<ResponseForm, { kind: 'table' }>;

function tableOf<T extends SingleObject>(
  kind: SingleObjectKind<T>,
  objects: readonly T[],
  { version, include }: TableForm,
  now: number,
): object {
  const { apiVersion, columns } = kind;
  const rows = objects.map((object) => ({
    cells: [
      object.metadata.name,
      ...columns.map(({ cell }) => cell(object)),
      ageAt(now, object.metadata.creationTimestamp),
    ],
    object:
      include === 'None'
        ? null
        : include === 'Object'
          ? { kind: kind.kind, apiVersion, ...object }
          : partialOf(object, version),
  }));
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: {},
    columnDefinitions: [ARKTOS_NAME, ...columns.map(({ cell: _, ...definition }) => definition), ARKTOS_AGE],
    rows,
  };
}
