/**
 * The filtered list of namespaces: which revision it has, and its pages.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */
import type { ContinueScope } from '../../access/lists/continue-token.ts';
import { isPretty, responseForm } from '../../access/lists/response-form.ts';
import { listText } from '../../access/namespaces/namespace-form.ts';
import {
  type NamespacePosition,
  openPosition,
  sealPosition,
  selectConfirmedPage,
  selectPage,
} from '../../access/namespaces/namespace-list.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { UpstreamResponse } from '../ports.ts';
import { waitUntilWatchable } from './missed-changes.ts';
import {
  type NamespacesRequest,
  type NamespacesState,
  nameReviews,
  viewOf,
  waitForRevision,
} from './request.ts';

/**
 * @throws StatusError RequestMalformed, NotAcceptable, ResourceExpired, ResourceVersionTooLarge,
 *   TenantRateExceeded, ListTooLarge
 */
export async function listVisible(
  request: NamespacesRequest,
  state: NamespacesState,
): Promise<UpstreamResponse> {
  const { outgoing, info, options, tenant } = request;
  const { clock } = state;
  const form = responseForm(outgoing.exchange.headers, info.rawQuery, { verb: 'list', kind: 'Namespace' });
  const scope = continueScope(request);
  const { after, revision } =
    options.continue === ''
      ? await firstPosition(request, state)
      : await laterPosition(request, scope, state);
  const view = viewOf(request, state);
  // What is read here may change while names are reviewed: the list is then older than what it shows.
  const { generation, digest } = view;
  const reviews = nameReviews(request, state);
  const page =
    reviews === undefined
      ? selectPage(view, request.selection, after, options.limit)
      : await selectConfirmedPage(view, request.selection, after, options.limit, (names) =>
          reviews.confirm(names),
        );
  state.served.listed(view, revision);
  const last = page.namespaces.at(-1)?.name ?? after;
  const metadata = {
    resourceVersion: String(revision),
    ...(page.hasMore && {
      continue: sealPosition(state, scope, { generation, digest }, { after: last, revision }),
    }),
  };
  const context = { form, now: clock.now(), hasTenants: tenant !== '' };
  const text = listText(page.namespaces, metadata, context);
  // At once: many requests may have waited for the same, and each makes its list now.
  const response: UpstreamResponse = {
    status: 200,
    headers: [
      ['Content-Type', JSON_TYPE],
      ['Cache-Control', 'no-cache, private'],
    ],
    body: Buffer.from(isPretty(outgoing.exchange.headers, info.rawQuery) ? indented(text) : text),
  };
  return state.responseMemory.charged(outgoing.tenant, response);
}

function indented(text: string): string {
  const list: unknown = JSON.parse(text);
  return `${JSON.stringify(list, null, 2)}\n`;
}

function continueScope({ outgoing, info, options, tenant }: NamespacesRequest): ContinueScope {
  return {
    kind: 'namespaces',
    user: JSON.stringify([tenant, outgoing.user.username, outgoing.user.uid]),
    path: info.rawPath,
    selection: [options.labelSelector, options.fieldSelector],
  };
}

async function firstPosition(request: NamespacesRequest, state: NamespacesState): Promise<NamespacePosition> {
  const { resourceVersion = 0, resourceVersionMatch } = request.options;
  await waitForRevision(resourceVersion, request, state);
  if (resourceVersionMatch !== 'Exact') await waitUntilWatchable(request, state);
  const { revision } = state.access.index;
  if (resourceVersionMatch === 'Exact' && resourceVersion !== revision)
    throw new StatusError('ResourceExpired', 'The resourceVersion for the provided list is too old.');
  return { after: '', revision };
}

async function laterPosition(
  request: NamespacesRequest,
  scope: ContinueScope,
  state: NamespacesState,
): Promise<NamespacePosition> {
  const open = () => openPosition(state, scope, viewOf(request, state), request.options.continue);
  await waitForRevision(open().revision, request, state);
  // The user's access may have changed in the meantime.
  return open();
}
