/**
 * Responds with objects that Stonegate makes itself, in the forms of the API server: a list, or one object by
 * its name, as objects, as metadata or as a table.
 */
import { StatusError } from '../../errors/status-error.ts';
import { invalidContinue } from '../../kubernetes/lists/continue-token.ts';
import { fieldsMatch, parseFieldSelector } from '../../kubernetes/lists/field-selector.ts';
import { labelsMatch, parseLabelSelector } from '../../kubernetes/lists/label-selector.ts';
import { readListOptions } from '../../kubernetes/lists/list-options.ts';
import { ARKTOS_AGE, ARKTOS_NAME, column } from '../../kubernetes/lists/namespace-columns.ts';
import { isPretty, type ResponseForm, responseForm } from '../../kubernetes/lists/response-form.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { ageAt } from '../../lib/go-time.ts';
import { OWN_API_VERSION, OWN_GROUP, type OwnResource } from '../own-api.ts';
import type { Outgoing } from '../request-context.ts';
import { JSON_HEADERS } from './own-responses.ts';

/** An object without its kind and version, as the client sees it. */
export interface OwnObject {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string | null };
  readonly spec: object;
  readonly status: object;
}

export interface OwnObjectMeta {
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly creationTimestamp: string;
}

/** A resource of Stonegate's own API, or one that it answers instead of the API server. */
export interface OwnObjectKind<T extends OwnObject> extends Pick<OwnResource, 'name' | 'kind'> {
  /** `v1` for a kind of the API server's core group. If absent, the kind is of Stonegate's own API. */
  readonly apiVersion?: 'v1';
  /** The columns of its table between the name and the age. */
  readonly columns: readonly (readonly [name: string, description: string, cell: (object: T) => string])[];
  /** What the field selector `status.phase` compares; absent: an empty text. */
  readonly phase?: (object: T) => string;
  /** Whether the objects have no age, since they are never created. */
  readonly isAgeless?: true;
}

/**
 * @param name of the object; empty for the list
 * @param now milliseconds since the epoch, for the age
 * @param load gets what the user may see, at least the object of that name; called if the options are valid
 * @throws StatusError NotFound, ListOptionsInvalid and the like; and what `load` throws
 */
export async function answerOwnObjects<T extends OwnObject>(
  outgoing: Outgoing,
  name: string,
  kind: OwnObjectKind<T>,
  now: number,
  load: () => readonly T[] | Promise<readonly T[]>,
): Promise<UpstreamResponse> {
  const { exchange, info } = outgoing;
  const verb = name === '' ? 'list' : 'get';
  const form = responseForm(exchange.headers, info.rawQuery, { verb, kind: kind.kind });
  const isList = name === '';
  const objects = isList ? await selected(outgoing, kind, load) : [named(name, kind, await load())];
  const document =
    form.kind === 'table' ? tableOf(kind, objects, form, now) : documentOf(kind, objects, isList, form);
  const indent = isPretty(exchange.headers, info.rawQuery) ? 2 : 0;
  const body = Buffer.from(`${JSON.stringify(document, null, indent)}\n`);
  return { status: 200, headers: JSON_HEADERS, body };
}

/** Selectors see what the user sees: objects without labels. */
async function selected<T extends OwnObject>(
  { info }: Outgoing,
  kind: OwnObjectKind<T>,
  load: () => readonly T[] | Promise<readonly T[]>,
): Promise<readonly T[]> {
  const options = readListOptions(info.rawQuery, 'list');
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector);
  if (options.continue !== '') throw invalidContinue();
  return (await load()).filter((object) => {
    const values = { 'metadata.name': object.metadata.name, 'status.phase': kind.phase?.(object) ?? '' };
    return labelsMatch(labels, {}) && fieldsMatch(fields, values);
  });
}

function named<T extends OwnObject>(name: string, kind: OwnObjectKind<T>, objects: readonly T[]): T {
  const object = objects.find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw ownObjectNotFound(name, kind);
  return object;
}

/** The kind and version that an object begins with. */
export function typeMeta({ kind, apiVersion }: Pick<OwnObjectKind<never>, 'kind' | 'apiVersion'>) {
  return { kind, apiVersion: apiVersion ?? OWN_API_VERSION };
}

export function ownObjectNotFound(
  name: string,
  { name: kind, apiVersion }: Pick<OwnObjectKind<never>, 'name' | 'apiVersion'>,
): StatusError {
  const isOwn = apiVersion === undefined;
  const plural = isOwn ? `${kind}.${OWN_GROUP}` : kind;
  return new StatusError('NotFound', `${plural} ${JSON.stringify(name)} not found`, {
    details: { name, kind, ...(isOwn && { group: OWN_GROUP }) },
  });
}

function documentOf<T extends OwnObject>(
  kind: OwnObjectKind<T>,
  objects: readonly T[],
  isList: boolean,
  form: Exclude<ResponseForm, TableForm>,
): object {
  const isWhole = form.kind === 'objects';
  const { kind: name, apiVersion } = isWhole ? typeMeta(kind) : partialKind(form);
  const items = isWhole ? objects : objects.map((object) => partialOf(object, form));
  return isList
    ? { kind: `${name}List`, apiVersion, metadata: {}, items }
    : { kind: name, apiVersion, ...items[0] };
}

function partialKind({ version }: { readonly version: string }) {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}` };
}

function partialOf({ metadata }: OwnObject, form: { readonly version: string }): object {
  return { ...partialKind(form), metadata };
}

type TableForm = Extract<ResponseForm, { kind: 'table' }>;

function tableOf<T extends OwnObject>(
  kind: OwnObjectKind<T>,
  objects: readonly T[],
  form: TableForm,
  now: number,
): object {
  const { columns } = kind;
  const rows = objects.map((object) => ({
    cells: [
      object.metadata.name,
      ...columns.map(([, , cell]) => cell(object)),
      ...(object.metadata.creationTimestamp === null ? [] : [ageAt(now, object.metadata.creationTimestamp)]),
    ],
    object:
      form.include === 'None'
        ? null
        : form.include === 'Object'
          ? { ...typeMeta(kind), ...object }
          : partialOf(object, form),
  }));
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata: {},
    columnDefinitions: [
      ARKTOS_NAME,
      ...columns.map(([name, description]) => column(name, description)),
      ...(kind.isAgeless === true ? [] : [ARKTOS_AGE]),
    ],
    rows,
  };
}
