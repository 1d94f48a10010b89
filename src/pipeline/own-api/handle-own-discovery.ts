/**
 * Stonegate's own group in discovery. Its own documents are answered here; the API server's lists of groups
 * are fetched as the user and get the group added. Nothing is stored: the ETag is the API server's with a
 * digest of the addition, so that an unchanged list is a 304 of the API server's.
 * RFC 9110 §13.1.2
 */
import { createHash } from 'node:crypto';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { accountOf } from '../../authorization/acting-tenant.ts';
import {
  type HeaderField,
  type HeaderList,
  headerValue,
  headerValues,
  isNamed,
} from '../../lib/header-list.ts';
import { narrowedTo } from '../../lib/media-ranges.ts';
import type { OwnAPI, OwnDocument } from '../../tenancy/own-api.ts';
import {
  OWN_GROUP_DOCUMENT,
  type OwnDocuments,
  ownResourceList,
  withOwnGroup,
} from '../../tenancy/own-discovery.ts';
import { ownOpenAPI } from '../../tenancy/own-openapi.ts';
import type { RouteHandlers } from '../feature.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../ports.ts';
import { type Outgoing, setImpersonationSent } from '../request-context.ts';
import { routeAs } from '../route-kind.ts';

export interface OwnDiscoveryOptions {
  readonly ownAPI: OwnAPI;
  readonly fetcher: UpstreamFetcher;
}

/** They ask for a part of the document, or describe it as it was before the group was added. */
const ABOUT_ONE_FORM: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
]);
const OF_ONE_FORM: ReadonlySet<string> = new Set(['etag', 'last-modified', 'accept-ranges']);

export function createOwnDiscoveryHandlers(
  options: OwnDiscoveryOptions,
): Required<Pick<RouteHandlers, 'own-discovery' | 'group-list'>> {
  const { resources } = options.ownAPI;
  const openapi = documentResponse(ownOpenAPI(resources));
  const documents: Readonly<Record<OwnDocument, UpstreamResponse>> = {
    group: documentResponse(OWN_GROUP_DOCUMENT),
    resources: documentResponse(ownResourceList(resources)),
    openapi,
  };
  const lists = new ExtendedLists(options.fetcher, {
    resources,
    openAPIHash: digestOf(openapi.body).toUpperCase(),
  });
  return {
    async 'own-discovery'(outgoing) {
      const { document } = routeAs(outgoing, 'own-discovery');
      return conditional(documents[document], entityTags(outgoing.exchange.headers));
    },
    async 'group-list'(outgoing) {
      const { path, query } = routeAs(outgoing, 'forward');
      const accept = narrowedTo(JSON_TYPE, outgoing.exchange.headers);
      // Without JSON there is nothing to add to: the client gets the API server's document as it is.
      if (accept === undefined) return undefined;
      return lists.get(outgoing, accept, query === '' ? path : `${path}?${query}`);
    },
  };
}

/** The API server's lists of groups, with Stonegate's own. */
class ExtendedLists {
  readonly #fetcher: UpstreamFetcher;
  readonly #own: OwnDocuments;
  /** What the ETag of an extended list ends with, before the quote. */
  readonly #mark: string;

  constructor(fetcher: UpstreamFetcher, own: OwnDocuments) {
    this.#fetcher = fetcher;
    this.#own = own;
    this.#mark = `.${digestOf(Buffer.from(JSON.stringify(own)))}`;
  }

  async get(outgoing: Outgoing, accept: string, target: string): Promise<UpstreamResponse> {
    const { exchange, sender, upstreamHeaders } = outgoing;
    const wanted = entityTags(exchange.headers);
    const known = wanted
      .filter((tag) => tag.endsWith(`${this.#mark}"`))
      .map((tag) => `${tag.slice(0, -this.#mark.length - 1)}"`);
    setImpersonationSent(outgoing);
    const response = await this.#fetcher.fetch(
      {
        account: accountOf(outgoing),
        sender,
        method: 'GET',
        target,
        headers: [
          ...upstreamHeaders.filter(([name]) => !ABOUT_ONE_FORM.has(name.toLowerCase())),
          ['Accept', accept],
          ...(known.length === 0 ? [] : ([['If-None-Match', known.join(', ')]] satisfies HeaderField[])),
        ],
      },
      exchange.signal,
    );
    // The length is written with the response.
    const headers = response.headers.filter(([name]) => !isNamed(name, 'content-length'));
    return conditional(this.#extended({ ...response, headers }), wanted);
  }

  #extended(response: UpstreamResponse): UpstreamResponse {
    const { status, headers } = response;
    if (status !== 200 && status !== 304) return response;
    const tag = headerValue(headers, 'etag');
    const remaining = headers.filter(([name]) => !OF_ONE_FORM.has(name.toLowerCase()));
    const marked = tag === undefined ? undefined : `${tag.replace(/^W\//, '').slice(0, -1)}${this.#mark}"`;
    if (status === 304) return { ...response, headers: withTag(remaining, marked) };
    const document = withOwnGroup(parse(response), this.#own);
    if (document === undefined) return response;
    const body = Buffer.from(`${JSON.stringify(document)}\n`);
    return { status, headers: withTag(remaining, marked ?? `"${digestOf(body)}"`), body };
  }
}

function parse({ headers, body }: UpstreamResponse): unknown {
  if (headerValue(headers, 'content-encoding') !== undefined) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // The client gets what the API server said, and reports it as it would without Stonegate.
    return undefined;
  }
}

function documentResponse(document: object): UpstreamResponse {
  const body = Buffer.from(`${JSON.stringify(document)}\n`);
  const headers: HeaderField[] = [
    ['Content-Type', JSON_TYPE],
    ['Cache-Control', 'no-cache, private'],
    ['Vary', 'Accept'],
    ['ETag', `"${digestOf(body)}"`],
  ];
  return { status: 200, headers, body };
}

function withTag(headers: HeaderList, tag: string | undefined): HeaderList {
  return tag === undefined ? headers : [...headers, ['ETag', tag]];
}

/** 304 if the client has the document already. */
function conditional(response: UpstreamResponse, tags: readonly string[]): UpstreamResponse {
  const { status, headers } = response;
  const tag = headerValue(headers, 'etag');
  if (status !== 200 || tag === undefined || !(tags.includes(tag) || tags.includes('*'))) return response;
  const remaining = headers.filter(([name]) => !isNamed(name, 'content-type'));
  return { status: 304, headers: remaining, body: Buffer.alloc(0) };
}

/** Of If-None-Match; a weak tag is compared as a strong one. */
function entityTags(headers: HeaderList): string[] {
  return headerValues(headers, 'if-none-match')
    .flatMap((value) => value.match(/\*|(?:W\/)?"[^"]*"/g) ?? [])
    .map((tag) => tag.replace(/^W\//, ''));
}

function digestOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 32);
}
