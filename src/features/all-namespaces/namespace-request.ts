/**
 * The request for one namespace that is made of a list or watch of all namespaces: the same path with the
 * namespace in it, sent as the user that the client's own request in that namespace would have.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { ListOptions } from '../../kubernetes/lists/list-options.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Account, Sender } from '../../kubernetes/upstream-request.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import { withParameters } from '../../lib/query.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import { inPlainJSON } from '../../proxy/request/accepted-types.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { AllNamespacesQuestion, PermittedNamespaces } from './permitted-namespaces.ts';

/** A list or watch that is sent namespace by namespace. */
export interface AllNamespacesRequest {
  readonly outgoing: Outgoing;
  readonly info: ResourceRequest;
  readonly subject: SubjectByNamespace;
  readonly question: AllNamespacesQuestion;
  readonly options: ListOptions;
  readonly permitted: PermittedNamespaces;
  /** The client's, without digits; `0` if it has none. */
  readonly revision: string;
}

/** A GET of one namespace, complete for `UpstreamFetcher` and `UpstreamStreamer`. */
export interface NamespaceRequest {
  readonly account: Account;
  readonly sender: Sender;
  readonly method: 'GET';
  readonly target: string;
  readonly headers: HeaderList;
}

export interface NamespaceRequestOptions {
  readonly subjects: Pick<AccessSubjects, 'requestAs'>;
  readonly mode: Pick<TenancyMode, 'route' | 'isWithinTenant'>;
}

/**
 * @param parameters of the query in place of the client's; undefined removes one
 * @throws StatusError NotAcceptable if the client takes no JSON; as `requestAs` does; InvariantBroken
 */
export async function namespaceRequest(
  outgoing: Outgoing,
  info: ResourceRequest,
  namespace: string,
  parameters: Readonly<Record<string, string | undefined>>,
  { subjects, mode }: NamespaceRequestOptions,
): Promise<NamespaceRequest> {
  const { tenant } = outgoing;
  const { sender, user, upstreamHeaders } = await subjects.requestAs(outgoing, namespace);
  const wanted = inNamespace(info, namespace, withParameters(info.rawQuery, parameters));
  const route = mode.route(wanted, 'GET', tenant, user);
  if (route.kind !== 'forward') throw invalid();
  if (sender.kind === 'client' && !mode.isWithinTenant(route.path, tenant)) throw invalid();
  return {
    account: { kind: 'tenant', tenant },
    sender,
    method: 'GET',
    target: route.query === '' ? route.path : `${route.path}?${route.query}`,
    headers: inPlainJSON(upstreamHeaders),
  };
}

function inNamespace(info: ResourceRequest, namespace: string, rawQuery: string): ResourceRequest {
  const at = info.tenantOffset + (info.tenant === '' ? 0 : `tenants/${info.tenant}/`.length);
  const rawPath = `${info.rawPath.slice(0, at)}namespaces/${namespace}/${info.rawPath.slice(at)}`;
  return { ...info, rawPath, rawQuery, namespace };
}

function invalid(): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: invalid request to a namespace');
}

/** The API server's response to the request for one namespace, which becomes the response to the client. */
export class UnexpectedNamespaceResponse extends Error {
  readonly response: UpstreamResponse;

  constructor(response: UpstreamResponse) {
    super(`the response for a namespace has the status ${response.status}`);
    this.response = response;
  }
}
