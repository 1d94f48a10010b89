/**
 * Stonegate's own group in discovery. Its own documents are constant; the API server's lists of groups are
 * fetched as the user, and the group is added.
 */
import { hash } from 'node:crypto';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { type HeaderList, headerValue } from '../../lib/header-list.ts';
import { readJSON } from '../../lib/json-object.ts';
import { narrowedTo } from '../../lib/media-ranges.ts';
import type { RouteHandlers } from '../../proxy/feature.ts';
import type { OwnAPI, OwnDocument } from '../../proxy/own-api.ts';
import { OWN_GROUP_DOCUMENT, ownResourceList, withOwnGroup } from '../../proxy/own-discovery.ts';
import { fetchAsUser } from '../../proxy/request/fetch-as-user.ts';
import { type Outgoing, setImpersonationSent } from '../../proxy/request-context.ts';
import { JSON_HEADERS, matchesTag } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import { ownOpenAPI } from './own-openapi.ts';

export interface OwnDiscoveryOptions {
  readonly ownAPI: OwnAPI;
  readonly fetcher: UpstreamFetcher;
}

const RESPONSE_FIELDS_OF_DOCUMENT: ReadonlySet<string> = new Set([
  'etag',
  'last-modified',
  'accept-ranges',
  'content-length',
]);

export function createOwnDiscoveryHandlers({
  ownAPI: { resources },
  fetcher,
}: OwnDiscoveryOptions): Required<Pick<RouteHandlers, 'own-discovery' | 'group-list'>> {
  const headers: HeaderList = [...JSON_HEADERS, ['Vary', 'Accept']];
  const openapi = bodyOf(ownOpenAPI(resources));
  const documents: Readonly<Record<OwnDocument, Buffer>> = {
    group: bodyOf(OWN_GROUP_DOCUMENT),
    resources: bodyOf(ownResourceList(resources)),
    openapi,
  };
  const own = { resources, openAPIHash: digestOf(openapi).toUpperCase() };
  return {
    async 'own-discovery'(outgoing) {
      const { document } = routeAs(outgoing, 'own-discovery');
      return tagged(outgoing, headers, documents[document]);
    },
    async 'group-list'(outgoing) {
      const accept = narrowedTo(JSON_TYPE, outgoing.exchange.headers);
      // Without JSON there is nothing to add to: the client gets the API server's document as it is.
      if (accept === undefined) return undefined;
      setImpersonationSent(outgoing);
      const response = await fetchAsUser(fetcher, outgoing, { ...routeAs(outgoing, 'forward'), accept });
      const document = response.status === 200 ? withOwnGroup(parse(response), own) : undefined;
      if (document === undefined) {
        const others = response.headers.filter(([name]) => name.toLowerCase() !== 'content-length');
        return { ...response, headers: others };
      }
      const others = response.headers.filter(
        ([name]) => !RESPONSE_FIELDS_OF_DOCUMENT.has(name.toLowerCase()),
      );
      return tagged(outgoing, others, bodyOf(document));
    },
  };
}

/** @returns undefined for what cannot be read: the client gets what the API server said */
function parse({ headers, body }: UpstreamResponse): unknown {
  return headerValue(headers, 'content-encoding') === undefined ? readJSON(body) : undefined;
}

/** 304 if the client has the document already. */
function tagged({ exchange }: Outgoing, headers: HeaderList, body: Buffer): UpstreamResponse {
  const tag = `"${digestOf(body)}"`;
  const withTag: HeaderList = [...headers, ['ETag', tag]];
  if (!matchesTag(exchange.headers, tag)) return { status: 200, headers: withTag, body };
  const remaining = withTag.filter(([name]) => name.toLowerCase() !== 'content-type');
  return { status: 304, headers: remaining, body: Buffer.alloc(0) };
}

function bodyOf(document: object): Buffer {
  return Buffer.from(`${JSON.stringify(document)}\n`);
}

function digestOf(body: Buffer): string {
  return hash('sha256', body).slice(0, 32);
}
