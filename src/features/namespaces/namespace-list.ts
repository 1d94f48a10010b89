/**
 * The filtered list of namespaces.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */

import { StatusError } from '../../errors/status-error.ts';
import {
  type ContinueScope,
  continueToken,
  expiredContinue,
  invalidContinue,
  readContinueToken,
} from '../../kubernetes/lists/continue-token.ts';
import { isPretty, responseForm } from '../../kubernetes/lists/response-form.ts';
import { digitsIn, hasDigits, withDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { StoredNamespace } from '../../kubernetes/rbac-v1.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { JSON_HEADERS } from '../../proxy/response/own-responses.ts';
import { listText } from './namespace-form.ts';
import {
  type FilteredNamespacesOptions,
  type NamespaceSelection,
  type NamespacesRequest,
  viewOf,
  waitForRevision,
} from './namespaces-request.ts';
import { positionIn } from './visible-namespaces.ts';

/** The position at which a page begins. */
interface Position {
  /** The page begins behind this name. */
  readonly after: string;
  /** The revision of the first page, with its digits: all pages have it. */
  readonly resourceVersion: string;
}

/**
 * @throws StatusError RequestMalformed, NotAcceptable, ResourceExpired, ResourceVersionTooLarge
 */
export async function listVisible(
  request: NamespacesRequest,
  options: FilteredNamespacesOptions,
): Promise<UpstreamResponse> {
  const { outgoing, info, tenant, selection } = request;
  const { continue: token, limit } = request.options;
  const { headers } = outgoing.exchange;
  const form = responseForm(headers, info.rawQuery, { verb: 'list', kind: 'Namespace' });
  if (token === '') await waitForRevision(request, options);
  const { sorted, digits } = viewOf(request, options);
  const { after, resourceVersion } = positionOf(request, digits, options);
  const page = selectPage(sorted, selection, after, limit);
  const last = page.namespaces.at(-1)?.name ?? after;
  const metadata = {
    resourceVersion,
    ...(page.hasMore && { continue: continueToken(scopeOf(request), { after: last, resourceVersion }) }),
  };
  const context = { form, now: options.clock.now(), showsTenant: tenant !== '' };
  const text = listText(page.namespaces, metadata, context);
  const isIndented = text.length <= MAX_INDENTED && isPretty(headers, info.rawQuery);
  const body = Buffer.from(isIndented ? indented(text) : text);
  return { status: 200, headers: JSON_HEADERS, body };
}

/** Characters of the longest list that is indented: that takes twenty times as long as making the list. */
const MAX_INDENTED = 256 * 1024;

function indented(text: string): string {
  const list: unknown = JSON.parse(text);
  return `${JSON.stringify(list, null, 2)}\n`;
}

function scopeOf({ outgoing, info, options, tenant }: NamespacesRequest): ContinueScope {
  return { tenant, user: outgoing.user, path: info.rawPath, options };
}

function positionOf(
  request: NamespacesRequest,
  digits: string,
  { access }: FilteredNamespacesOptions,
): Position {
  const { options } = request;
  const { highestRevision } = access.index;
  if (options.continue !== '') {
    const { after, resourceVersion } = readContinueToken(scopeOf(request), options.continue);
    if (typeof after !== 'string' || typeof resourceVersion !== 'string') throw invalidContinue();
    if (!hasDigits(resourceVersion, highestRevision)) throw invalidContinue();
    if (digitsIn(resourceVersion) !== digits) throw expiredContinue();
    return { after, resourceVersion };
  }
  const { resourceVersion: asked, resourceVersionMatch } = options;
  const isPresent = hasDigits(asked, highestRevision)
    ? digitsIn(asked) === digits
    : asked === String(highestRevision);
  if (resourceVersionMatch === 'Exact' && !isPresent)
    throw new StatusError('ResourceExpired', 'The resourceVersion for the provided list is too old.');
  return { after: '', resourceVersion: withDigits(highestRevision, digits) };
}

interface NamespacePage {
  readonly namespaces: readonly StoredNamespace[];
  /** Whether others follow. */
  readonly hasMore: boolean;
}

/**
 * @param after the name behind which the page begins; empty for the first page
 * @param limit 0: all at once
 */
export function selectPage(
  sorted: readonly StoredNamespace[],
  selection: NamespaceSelection,
  after: string,
  limit: number,
): NamespacePage {
  const namespaces: StoredNamespace[] = [];
  for (const namespace of sorted.slice(positionIn(sorted, after))) {
    if (namespace.name === after || !selection.matches(namespace)) continue;
    if (limit > 0 && namespaces.length === limit) return { namespaces, hasMore: true };
    namespaces.push(namespace);
  }
  return { namespaces, hasMore: false };
}
