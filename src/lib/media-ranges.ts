/**
 * The media ranges of an Accept header, read as the API server reads them: cut at each comma, and compared by
 * type alone. RFC 9110 §12.5.1;
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/handlers/negotiation
 */
import { type HeaderList, headerValues } from './header-list.ts';

export interface MediaRange {
  /** The range as it was sent, with its parameters. */
  readonly text: string;
  /** The type in lower case, without the blanks that the API server overlooks around the slash. */
  readonly type: string;
}

/** The ranges in the client's order; none if it has no preference. */
export function acceptedRanges(headers: HeaderList): MediaRange[] {
  return headerValues(headers, 'accept').flatMap(readRanges);
}

/** @param accept a value of the header */
export function readRanges(accept: string): MediaRange[] {
  return accept
    .split(',')
    .map((range) => range.trim())
    .filter((range) => range !== '')
    .map((text) => ({ text, type: typeOf(text) }));
}

function typeOf(range: string): string {
  const [type = ''] = range.split(';', 1);
  return type.replace(/\s+/g, '').toLowerCase();
}

/** Whether a response of this media type is in the range. */
export function covers({ type }: MediaRange, mediaType: string): boolean {
  return type === mediaType || type === '*/*' || type === `${mediaType.split('/', 1)[0]}/*`;
}

/** Names are in lower case. */
export function parametersOf({ text }: MediaRange): ReadonlyMap<string, string> {
  const [, ...parameters] = text.split(';');
  return new Map(
    parameters.map((parameter) => {
      const [name = '', value = ''] = parameter.split('=', 2);
      return [name.trim().toLowerCase(), value.trim()];
    }),
  );
}

/** Sorts by quality; those of equal quality stay in the client's order. */
export function bestFirst(ranges: readonly MediaRange[]): MediaRange[] {
  return ranges
    .map((range) => ({ range, quality: qualityOf(range) }))
    .sort((one, other) => other.quality - one.quality)
    .map(({ range }) => range);
}

/** 1 if it cannot be read. */
export function qualityOf(range: MediaRange): number {
  const quality = Number(parametersOf(range).get('q') ?? '1');
  return Number.isNaN(quality) ? 1 : quality;
}

/**
 * The ranges that cover a media type, with the type itself in place of a wildcard: an Accept header for a
 * server that is to respond in this type.
 *
 * @returns undefined if the client accepts only others
 */
export function narrowedTo(mediaType: string, headers: HeaderList): string | undefined {
  const values = headerValues(headers, 'accept');
  if (values.every((value) => value.trim() === '')) return mediaType;
  const ranges = values.flatMap(readRanges).filter((range) => covers(range, mediaType));
  if (ranges.length === 0) return undefined;
  return ranges.map(({ text, type }) => (type === mediaType ? text : mediaType)).join(', ');
}
