/**
 * A list of all namespaces that a user may list: each namespace is listed as the user, and the lists are
 * merged. See docs/access.md, "All-namespaces requests".
 */

import { StatusError } from '../../errors/status-error.ts';
import {
  type ContinueScope,
  continueToken,
  expiredContinue,
  invalidContinue,
  readContinueToken,
} from '../../kubernetes/lists/continue-token.ts';
import { digitsIn, withDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { MalformedJSON } from '../../lib/json-scan.ts';
import { type ByteBudget, type Reservation, TooLarge } from '../../limits/byte-budget.ts';
import { MAX_MERGED_LIST } from '../../limits/memory-bounds.ts';
import { JSON_HEADERS, relayedResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import {
  collectPage,
  type MergedPage,
  type MergedPosition,
  type PartRequest,
  type PartResult,
} from './collect-page.ts';
import { mergeParts, readListPart } from './list-part.ts';
import {
  type AllNamespacesRequest,
  leftOut,
  type NamespaceRequestOptions,
  namespaceRequest,
  UnexpectedNamespaceResponse,
} from './namespace-request.ts';

export interface MergedListOptions extends NamespaceRequestOptions {
  readonly mode: NamespaceRequestOptions['mode'] & Pick<TenancyMode, 'listsAtRevision'>;
  readonly fetcher: UpstreamFetcher;
  /** Bounds the parts of all lists that are being merged. */
  readonly memory: ByteBudget;
}

/**
 * @returns undefined if the API server refuses all of them: then the request is forwarded as it is
 * @throws StatusError RequestMalformed (`continue`), ResourceExpired, ListTooLarge, TenantRateExceeded,
 *   UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
 */
export async function mergedList(
  request: AllNamespacesRequest,
  options: MergedListOptions,
): Promise<UpstreamResponse | undefined> {
  const { info, permitted } = request;
  const { digits } = permitted;
  const from = startOf(request);
  const memory = options.memory.reservation(request.outgoing.tenant);
  let isResponse = false;
  try {
    const page = await listPage(request, from, memory, options);
    const [first, ...others] = page.parts;
    if (first === undefined) {
      if (from !== undefined) throw expiredContinue();
      return undefined;
    }
    const more = page.next && { continue: continueToken(scopeOf(request), { ...page.next, digits }) };
    const resourceVersion = withDigits(page.revision ?? first.revision, digits);
    const metadata = { resourceVersion, ...more };
    const body = mergeParts([first, ...others], metadata);
    isResponse = true;
    // The merged list takes as much memory as its parts.
    const { release } = memory;
    const response = { status: 200, headers: JSON_HEADERS, body, release };
    return withWarnings(response, leftOut(page.forbidden, info));
  } catch (error) {
    if (error instanceof UnexpectedNamespaceResponse) return relayedResponse(error.response);
    if (error instanceof MalformedJSON) throw unreadable(error);
    throw error;
  } finally {
    if (!isResponse) memory.release();
  }
}

function scopeOf({ outgoing: { tenant, user }, info, options }: AllNamespacesRequest): ContinueScope {
  return { tenant, user, path: info.rawPath, options };
}

/** @returns undefined for the first page */
function startOf(request: AllNamespacesRequest): MergedPosition | undefined {
  const { options, permitted, revision: asked } = request;
  const { continue: token, resourceVersion, resourceVersionMatch } = options;
  if (token === '') {
    const isOther = asked !== resourceVersion && digitsIn(resourceVersion) !== permitted.digits;
    if (resourceVersionMatch === 'Exact' && isOther) throw expiredContinue();
    return undefined;
  }
  const { digits, namespace, revision, more } = readContinueToken(scopeOf(request), token);
  if (typeof namespace !== 'string' || typeof revision !== 'string') throw invalidContinue();
  if (!/^[0-9]{1,20}$/.test(revision) || (more !== undefined && typeof more !== 'string'))
    throw invalidContinue();
  if (digits !== permitted.digits) throw expiredContinue();
  return { namespace, revision, ...(more !== undefined && { more }) };
}

/** The caller releases the bytes that are reserved for the parts. */
async function listPage(
  request: AllNamespacesRequest,
  from: MergedPosition | undefined,
  memory: Reservation,
  options: MergedListOptions,
): Promise<MergedPage> {
  const { permitted, options: asked } = request;
  const limit = asked.limit === 0 ? undefined : asked.limit;
  const { listsAtRevision } = options.mode;
  const attempts = from === undefined ? 2 : 1;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const page = await collectPage({ namespaces: permitted.names, limit, from, listsAtRevision }, (part) =>
      listPart(request, part, memory, options),
    );
    if (page !== 'expired') return page;
    memory.resize(0);
  }
  throw expiredContinue();
}

async function listPart(
  { outgoing, info, revision: asked }: AllNamespacesRequest,
  { namespace, limit, revision, more }: PartRequest,
  memory: Reservation,
  options: MergedListOptions,
): Promise<PartResult> {
  const parameters = {
    ...(asked !== '0' && { resourceVersion: asked }),
    limit: limit === undefined ? undefined : String(limit),
    continue: more,
    ...(more !== undefined && { resourceVersion: undefined, resourceVersionMatch: undefined }),
    ...(revision !== undefined && { resourceVersion: revision, resourceVersionMatch: 'Exact' }),
  };
  const request = await namespaceRequest(outgoing, info, namespace, parameters, options);
  const response = await options.fetcher.fetch(request, outgoing.exchange.signal).catch(tooLarge);
  switch (response.status) {
    case 200:
      reserve(memory, response.body.length);
      return readListPart(response.body);
    case 403:
      return 'forbidden';
    case 404:
      return 'gone';
    case 410:
      return 'expired';
    default:
      throw new UnexpectedNamespaceResponse(response);
  }
}

function reserve(memory: Reservation, bytes: number): void {
  const merged = memory.bytes + bytes;
  if (merged > MAX_MERGED_LIST) throw listTooLarge();
  if (!memory.resize(merged))
    throw new StatusError(
      'TenantRateExceeded',
      'Too many requests, please try again later: too many large lists are merged at once',
    );
}

function tooLarge(error: unknown): never {
  if (error instanceof StatusError && error.cause instanceof TooLarge) throw listTooLarge(error);
  throw error;
}

function listTooLarge(cause?: unknown): StatusError {
  return new StatusError(
    'ListTooLarge',
    `the list of all your namespaces is too large to be merged: request it in pages (limit), or one namespace (-n NAMESPACE)`,
    { cause },
  );
}

function unreadable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    'the API server answered a list with something that cannot be read',
    {
      cause,
    },
  );
}
