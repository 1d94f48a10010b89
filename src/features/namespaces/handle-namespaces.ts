/**
 * Answers lists and watches of namespaces for users who may not have them all: with the namespaces that they
 * may `get`, from the RBAC index. Such a user's request would be a 403 of the API server. See
 * docs/access.md.
 */

import { readListOptions } from '../../kubernetes/lists/list-options.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import { waitUntil } from '../../lib/clock.ts';
import { answerFiltered, goesOnFromFiltered } from '../../proxy/answer-filtered.ts';
import type { Handled, ResponseHook, RouteHandler } from '../../proxy/feature.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { asFiltered, EXPIRED_WATCH } from '../../proxy/response/own-responses.ts';
import { type ListRequest, listRequest } from '../../proxy/route-kind.ts';
import { type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import { visibleNamespaces } from '../../rbac/enumerate.ts';
import { createdRevision, mayCreateNamespace } from './created-namespaces.ts';
import { listVisible } from './namespace-list.ts';
import { watchVisible } from './namespace-watch.ts';
import {
  type FilteredNamespacesOptions,
  INDEX_TIMEOUT,
  NamespaceSelection,
  viewOf,
} from './namespaces-request.ts';

export interface FilteredNamespaces {
  readonly handle: RouteHandler;
  /** Reads what requests have created. */
  readonly hook: ResponseHook;
  /** Whether a list or watch of all namespaces would be filtered for the user of the request. */
  wouldFilter(outgoing: Outgoing): Promise<boolean>;
}

export function createFilteredNamespaces(options: FilteredNamespacesOptions): FilteredNamespaces {
  const { access, memory, subjects, mode } = options;
  return {
    async handle(outgoing) {
      const isCurrent = access.state(mode.reviewTenant(outgoing.tenant) ?? '') === 'current';
      return isCurrent ? handle(outgoing, listRequest(outgoing), options) : undefined;
    },
    hook(outgoing) {
      const { info, user, crossing } = outgoing;
      if (!info.isResourceRequest || !mayCreateNamespace(info) || crossing !== undefined) return undefined;
      return {
        onCreated(body) {
          const revision = createdRevision(body);
          if (revision !== undefined)
            memory.created.created(tenantOf(outgoing, info, options), user.username, revision);
        },
      };
    },
    async wouldFilter(outgoing) {
      if (mode.isSystem(outgoing.tenant)) return false;
      const subject = await subjects.subjectOf(outgoing);
      const tenant = mode.reviewTenant(outgoing.tenant) ?? '';
      return (
        access.state(subject.cluster.tenant) === 'current' &&
        !may('list', access, subject, { namespace: '', name: '', tenant })
      );
    },
  };
}

async function handle(
  outgoing: Outgoing,
  info: ListRequest,
  options: FilteredNamespacesOptions,
): Promise<Handled> {
  const { access, subjects } = options;
  const tenant = tenantOf(outgoing, info, options);
  await waitForCreated(outgoing, tenant, options);
  const subject = await subjects.subjectOf(outgoing);
  if (access.state(subject.cluster.tenant) !== 'current') return undefined;
  const isAllowed = (verb: 'list' | 'watch') => may(verb, access, subject, { ...info, tenant });
  const goesOn = goesOnFromFiltered(info, access.index.highestRevision);
  if (isAllowed('list')) return goesOn ? EXPIRED_WATCH : undefined;
  const filtered = () => filteredResponse({ outgoing, info, subject, tenant }, options);
  return answerFiltered({ outgoing, info, goesOn, isAllowed: () => isAllowed(info.verb), filtered }, options);
}

async function filteredResponse(
  asked: { outgoing: Outgoing; info: ListRequest; subject: SubjectByNamespace; tenant: string },
  options: FilteredNamespacesOptions,
): Promise<Awaited<ReturnType<typeof listVisible>> | ReturnType<typeof watchVisible>> {
  const { info, subject, tenant } = asked;
  const listOptions = readListOptions(info.rawQuery, info.verb);
  // A watch of one namespace by its path; a field selector names it too.
  const name = info.namespace === '' ? '' : info.name;
  const selection = new NamespaceSelection(listOptions, name);
  const request = { ...asked, options: listOptions, selection };
  const response =
    info.verb === 'watch' ? watchVisible(request, options) : await listVisible(request, options);
  const names = () => viewOf(request, options).sorted.map(({ name }) => name);
  options.verifier.sampleNamespaces(subject, visibleNamespaces(tenant), names());
  return asFiltered(response);
}

/** The tenant whose namespaces are shown; empty if the API server has no tenants. */
function tenantOf({ tenant }: Outgoing, info: ResourceRequest, { mode }: FilteredNamespacesOptions): string {
  return info.tenant === '' ? (mode.reviewTenant(tenant) ?? '') : info.tenant;
}

async function waitForCreated(
  { user, exchange }: Outgoing,
  tenant: string,
  { access: { index }, memory: { created }, clock }: FilteredNamespacesOptions,
): Promise<void> {
  const revision = created.revisionOf(tenant, user.username);
  if (revision === 0) return;
  const isKnown = () => (index.revisionOf('namespaces') ?? 0) >= revision;
  await waitUntil(isKnown, clock, INDEX_TIMEOUT, exchange.signal);
  // A list whose client is gone has shown nothing.
  if (!exchange.signal.aborted) created.shown(tenant, user.username, revision);
}

type Place = Pick<ResourceRequest, 'namespace' | 'name'> & { readonly tenant: string };

/**
 * Whether RBAC allows it. The right to `list` decides about lists and watches, so that a watch is filtered as
 * the list before it was: a user who may list all, but not watch, gets the API server's 403 for the watch.
 */
function may(
  verb: 'list' | 'watch',
  { index }: FilteredNamespacesOptions['access'],
  subject: SubjectByNamespace,
  { namespace, name, tenant }: Place,
): boolean {
  const question = { verb, apiGroup: '', resource: 'namespaces', subresource: '', namespace, name, tenant };
  return allows(index, subjectIn(subject, namespace), question);
}
