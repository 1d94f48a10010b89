/**
 * Lists of single namespaces, merged into one. The objects keep their bytes. A part is a list of a kind, a
 * PartialObjectMetadataList or a Table.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { readJSONObject } from '../../lib/json-object.ts';
import {
  elementsOf,
  MalformedJSON,
  type Member,
  membersOf,
  type Span,
  skipBlanks,
} from '../../lib/json-scan.ts';

export interface ListPart {
  readonly text: Buffer;
  readonly members: readonly Member[];
  /** `items`, or of a Table `rows`. */
  readonly content: 'items' | 'rows';
  /** The bytes from the first object to the last; undefined if there is none. */
  readonly objects: Span | undefined;
  readonly count: number;
  /** `metadata.resourceVersion`. */
  readonly revision: string;
  /** `metadata.continue`: there are more objects in the namespace. */
  readonly more: string | undefined;
}

/** @throws MalformedJSON for what is no list */
export function readListPart(text: Buffer): ListPart {
  const members = [...membersOf(text, skipBlanks(text, 0))];
  const spanOf = (name: string) => members.find((member) => member.name === name)?.value;
  const content = spanOf('rows') === undefined ? 'items' : 'rows';
  const listed = spanOf(content);
  const metadata = spanOf('metadata');
  if (listed === undefined || metadata === undefined) throw new MalformedJSON('it is no list');
  const { resourceVersion, continue: more } = parseMetadata(text, metadata);
  return {
    text,
    members,
    content,
    ...objectsOf(text, listed),
    revision: resourceVersion,
    more: more === '' ? undefined : more,
  };
}

function objectsOf(text: Buffer, listed: Span): Pick<ListPart, 'objects' | 'count'> {
  if (text.toString('latin1', listed.start, listed.end) === 'null') return { objects: undefined, count: 0 };
  let objects: Span | undefined;
  let count = 0;
  for (const { start, end } of elementsOf(text, listed.start)) {
    objects = { start: objects?.start ?? start, end };
    count += 1;
  }
  return { objects, count };
}

const REVISION = /^[0-9]+$/;

function parseMetadata(text: Buffer, { start, end }: Span): { resourceVersion: string; continue: string } {
  const { resourceVersion, continue: more = '' } = readJSONObject(text.subarray(start, end)) ?? {};
  if (typeof resourceVersion !== 'string' || !REVISION.test(resourceVersion) || typeof more !== 'string')
    throw new MalformedJSON('its metadata are not those of a list');
  return { resourceVersion, continue: more };
}

/** Whether one revision is below another: both are decimal numbers of any length. */
export function isBelow(one: string, other: string): boolean {
  return one.length === other.length ? one < other : one.length < other.length;
}

export function lowest(one: string | undefined, other: string): string {
  return one === undefined || isBelow(other, one) ? other : one;
}

export interface MergedMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
}

/**
 * One list with the objects of all parts in their order. Everything else is the first part's; its number of
 * remaining objects is left out, since that of the other namespaces is not known.
 *
 * @throws MalformedJSON if the parts are not of one form
 */
export function mergeParts(parts: readonly [ListPart, ...ListPart[]], metadata: MergedMetadata): Buffer {
  const [first] = parts;
  if (parts.some(({ content }) => content !== first.content))
    throw new MalformedJSON('the lists of two namespaces are of different forms');
  const pieces: (Buffer | string)[] = [];
  for (const { name, value } of first.members) {
    pieces.push(pieces.length === 0 ? '{' : ',', JSON.stringify(name), ':');
    if (name === 'metadata') pieces.push(JSON.stringify(metadata));
    else if (name === first.content) pieces.push('[', ...objectsOfAll(parts), ']');
    else pieces.push(first.text.subarray(value.start, value.end));
  }
  pieces.push('}\n');
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

function objectsOfAll(parts: readonly ListPart[]): (Buffer | string)[] {
  return parts
    .flatMap(({ text, objects }) => (objects ? [text.subarray(objects.start, objects.end)] : []))
    .flatMap((objects, at) => (at === 0 ? [objects] : [',', objects]));
}
