/**
 * Answers lists and watches of namespaces for users who may not have them all: with the namespaces that they
 * may `get`, from the RBAC index. Such a user's request would be a 403 of the API server. See
 * docs/access.md.
 */
import { readListOptions } from '../../access/lists/list-options.ts';
import { hasDigits } from '../../access/lists/shown-revision.ts';
import { NamespaceSelection } from '../../access/namespaces/namespace-page.ts';
import type { ResourceRequest } from '../../api/request-info.ts';
import { firstParameter } from '../../lib/query.ts';
import { type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import { visibleNamespaces } from '../../rbac/enumerate.ts';
import type { Answered, Answerer, CreationHooks } from '../delivery.ts';
import type { Outgoing } from '../request-context.ts';
import { EXPIRED_WATCH } from '../response/expired-event.ts';
import { asFiltered } from '../response/filtered-response.ts';
import { listVisible } from './list.ts';
import { createdRevision, mayCreateNamespace } from './namespace-creation.ts';
import { type FilteredNamespacesOptions, type NamespacesInfo, viewOf, waitUntil } from './request.ts';
import { watchVisible } from './watch.ts';

export interface NamespacesAnswerer extends Answerer, CreationHooks {
  /** Whether a list or watch of all namespaces would be answered here for the user of the request. */
  wouldFilter(outgoing: Outgoing): Promise<boolean>;
}

export function createNamespacesAnswerer(options: FilteredNamespacesOptions): NamespacesAnswerer {
  const { access, memory, subjects, mode } = options;
  return {
    answer(outgoing) {
      const { info } = outgoing;
      if (!info.isResourceRequest || info.resource !== 'namespaces' || info.apiGroup !== '') return undefined;
      if (!isNamespaces(info) || !isEligible(outgoing, options)) return undefined;
      return answer(outgoing, info, options);
    },
    creationHook(outgoing) {
      const { info, user } = outgoing;
      if (!info.isResourceRequest || !mayCreateNamespace(info)) return undefined;
      return (body) => {
        const revision = createdRevision(body);
        if (revision !== undefined)
          memory.created.created(tenantOf(outgoing, info, options), user.username, revision);
      };
    },
    async wouldFilter(outgoing) {
      if (mode.isSystem(outgoing.tenant)) return false;
      const subject = await subjects.subjectOf(outgoing);
      const tenant = mode.reviewTenant(outgoing.tenant) ?? '';
      return (
        access.state(subject.cluster.tenant) === 'current' &&
        !mayHaveAll(access, subject, { namespace: '', name: '', tenant }).both
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
function isEligible(
  { route, exchange, tenant }: Outgoing,
  { access, mode }: FilteredNamespacesOptions,
): boolean {
  return (
    route.kind === 'forward' &&
    exchange.method === 'GET' &&
    exchange.upgrade === undefined &&
    !mode.isSystem(tenant) &&
    access.state(mode.reviewTenant(tenant) ?? '') === 'current'
  );
}

async function answer(
  outgoing: Outgoing,
  info: NamespacesInfo,
  options: FilteredNamespacesOptions,
): Promise<Answered> {
  const { access, subjects, othersMayAllow } = options;
  const tenant = tenantOf(outgoing, info, options);
  await waitForCreated(outgoing, tenant, options);
  const subject = await subjects.subjectOf(outgoing);
  if (access.state(subject.cluster.tenant) !== 'current') return undefined;
  const revision = firstParameter(info.rawQuery, 'resourceVersion') ?? '';
  const isFromFiltered = hasDigits(revision, access.index.highestRevision);
  const may = mayHaveAll(access, subject, { ...info, tenant });
  if (may.both) return info.verb === 'watch' && isFromFiltered ? EXPIRED_WATCH : undefined;
  const filtered = () => answerFiltered({ outgoing, info, subject, tenant }, options);
  if (!othersMayAllow || isFromFiltered) return filtered();
  // Its list was not filtered.
  if (info.verb === 'watch' && revision !== '' && revision !== '0') return undefined;
  if (may[info.verb]) return filtered();
  return { insteadOfForbidden: filtered };
}

async function answerFiltered(
  asked: { outgoing: Outgoing; info: NamespacesInfo; subject: SubjectByNamespace; tenant: string },
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

/** Whose namespaces; empty if the API server has no tenants. */
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
  await waitUntil(() => (index.revisionOf('namespaces') ?? 0) >= revision, clock, exchange.signal);
  // A list whose client is gone has shown nothing.
  if (!exchange.signal.aborted) created.shown(tenant, user.username, revision);
}

/**
 * What RBAC allows. A user who may either list or watch all gets both filtered: a client would miss, or keep
 * for ever, what the one shows and the other does not.
 */
function mayHaveAll(
  { index }: FilteredNamespacesOptions['access'],
  subject: SubjectByNamespace,
  { namespace, name, tenant }: Pick<ResourceRequest, 'namespace' | 'name'> & { readonly tenant: string },
): Readonly<Record<'list' | 'watch' | 'both', boolean>> {
  const may = (verb: 'list' | 'watch') => {
    const question = { verb, apiGroup: '', resource: 'namespaces', subresource: '', namespace, name, tenant };
    return allows(index, subjectIn(subject, namespace), question);
  };
  const [list, watch] = [may('list'), may('watch')];
  return { list, watch, both: list && (watch || name !== '') };
}
