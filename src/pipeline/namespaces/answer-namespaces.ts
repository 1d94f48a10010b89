/**
 * Answers lists and watches of namespaces for users who may not list them all: with the namespaces that they
 * may `get`, from the RBAC index. Such a user's request would be a 403 of the API server. See
 * docs/access.md.
 */
import { readListOptions } from '../../access/lists/list-options.ts';
import { NamespaceSelection } from '../../access/namespaces/namespace-list.ts';
import type { ResourceRequest } from '../../api/request-info.ts';
import { type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import { visibleNamespaces } from '../../rbac/enumerate.ts';
import type { Answerer, CreationHooks } from '../delivery.ts';
import type { UpstreamResponse } from '../ports.ts';
import { OtherAuthorizers } from '../rbac/other-authorizers.ts';
import type { Outgoing } from '../request-context.ts';
import type { StreamedAnswer } from '../response/answer-stream.ts';
import { asFiltered } from '../response/filtered-response.ts';
import { listVisible } from './list.ts';
import { createdRevision, mayCreateNamespace } from './namespace-creation.ts';
import {
  type FilteredNamespacesOptions,
  type NamespacesInfo,
  type NamespacesState,
  viewOf,
} from './request.ts';
import { watchVisible } from './watch.ts';

type Answer = UpstreamResponse | StreamedAnswer | undefined;

export interface NamespacesAnswerer extends Answerer<Answer>, CreationHooks {
  /** Whether a list or watch of all namespaces would be answered here for the user of the request. */
  wouldFilter(outgoing: Outgoing, verb: 'list' | 'watch'): Promise<boolean>;
}

export function createNamespacesAnswerer(options: FilteredNamespacesOptions): NamespacesAnswerer {
  const { access, memory } = options;
  const state: NamespacesState = { ...options, ...memory, others: new OtherAuthorizers(options) };
  return {
    answer(outgoing) {
      const { info } = outgoing;
      if (!info.isResourceRequest || info.resource !== 'namespaces' || info.apiGroup !== '') return undefined;
      if (!isNamespaces(info) || !isEligible(outgoing, state)) return undefined;
      return answer(outgoing, info, state);
    },
    creationHook(outgoing) {
      const { info, user } = outgoing;
      if (!info.isResourceRequest || !mayCreateNamespace(info)) return undefined;
      return (body) => {
        const revision = createdRevision(body);
        if (revision !== undefined)
          memory.created.created(tenantOf(outgoing, info, state), user.username, revision);
      };
    },
    async wouldFilter(outgoing, verb) {
      const tenant = options.mode.reviewTenant(outgoing.tenant) ?? '';
      if (access.state(tenant) !== 'current' || options.mode.isSystem(outgoing.tenant)) return false;
      return (
        (await filteredSubject(outgoing, { verb, namespace: '', name: '', tenant }, state)) !== undefined
      );
    },
  };
}

function isNamespaces(info: ResourceRequest): info is NamespacesInfo {
  return (
    info.apiVersion === 'v1' && info.subresource === '' && (info.verb === 'list' || info.verb === 'watch')
  );
}

/** HEAD is forwarded: the API server refuses it with 405. */
function isEligible({ route, exchange, tenant }: Outgoing, { access, mode }: NamespacesState): boolean {
  return (
    route.kind === 'forward' &&
    exchange.method === 'GET' &&
    exchange.upgrade === undefined &&
    !mode.isSystem(tenant) &&
    access.state(mode.reviewTenant(tenant) ?? '') === 'current'
  );
}

async function answer(outgoing: Outgoing, info: NamespacesInfo, state: NamespacesState): Promise<Answer> {
  const tenant = tenantOf(outgoing, info, state);
  await state.created.known(tenant, outgoing.user.username, outgoing.exchange.signal);
  const subject = await filteredSubject(outgoing, { ...info, tenant }, state);
  if (subject === undefined) return undefined;
  const options = readListOptions(info.rawQuery, info.verb);
  // A watch of one namespace by its path; a field selector names it too.
  const name = info.namespace === '' ? '' : info.name;
  const selection = new NamespaceSelection(options, name);
  const request = { outgoing, info, subject, tenant, options, selection };
  const response =
    info.verb === 'watch' ? await watchVisible(request, state) : await listVisible(request, state);
  // Once: the pages and reviews of a response may read the view several times.
  state.verifier.sampleNamespaces(subject, visibleNamespaces(tenant), viewOf(request, state).names);
  return asFiltered(response);
}

/** Whose namespaces; empty if the API server has no tenants. */
function tenantOf({ tenant }: Outgoing, info: ResourceRequest, { mode }: NamespacesState): string {
  return info.tenant === '' ? (mode.reviewTenant(tenant) ?? '') : info.tenant;
}

type Asked = Pick<ResourceRequest, 'verb' | 'namespace' | 'name'> & { readonly tenant: string };

/** @returns undefined if the request is to be forwarded: it is allowed, or the index does not count */
async function filteredSubject(
  outgoing: Outgoing,
  asked: Asked,
  state: NamespacesState,
): Promise<SubjectByNamespace | undefined> {
  const { access, subjects } = state;
  const subject = await subjects.subjectOf(outgoing);
  if (access.state(subject.cluster.tenant) !== 'current') return undefined;
  const { verb, namespace, name, tenant } = asked;
  const question = { verb, apiGroup: '', resource: 'namespaces', subresource: '', namespace, name, tenant };
  if (allows(access.index, subjectIn(subject, namespace), question)) return undefined;
  if (await isAllowedByOthers(outgoing, asked, state)) return undefined;
  return subject;
}

/** Whether an authorizer that the index does not know allows the request. */
async function isAllowedByOthers(
  outgoing: Outgoing,
  { verb, namespace, name }: Asked,
  { reviewer, others, subjects }: NamespacesState,
): Promise<boolean> {
  if (reviewer === undefined) return false;
  return others.allow(await subjects.requestAs(outgoing, namespace), {
    verb,
    resource: 'namespaces',
    ...(namespace !== '' && { namespace }),
    ...(name !== '' && { name }),
  });
}
