/**
 * Answers lists and watches of all namespaces (`kubectl get pods -A`) for users who may have them in some
 * namespaces only: the API server refuses such a request, so one is sent for each permitted namespace, as
 * the user, and the responses are merged. See docs/access.md.
 */
import { permittedNamespaces } from '../access/all-namespaces.ts';
import type { AccessIndex } from '../access/ports.ts';
import type { Verifier } from '../access/verification.ts';
import type { ResourceRequest } from '../api/request-info.ts';
import { type AccessReviewer, reviewOf } from '../authorization/access-reviewer.ts';
import { StatusError } from '../errors/status-error.ts';
import type { SubjectByNamespace } from '../rbac/attributes.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { AccessSubjects } from './access-subject.ts';
import { listNamespaces, type NamespacesListOptions } from './all-namespaces-list.ts';
import { isAllNamespaces } from './all-namespaces-request.ts';
import type { DiscoveryDocuments } from './answer-discovery.ts';
import type { StreamedAnswer } from './answer-stream.ts';
import type { Answerer } from './delivery.ts';
import { asFiltered } from './filtered-response.ts';
import type { UpstreamResponse } from './ports.ts';
import { type Outgoing, setImpersonationSent } from './request-context.ts';

export interface AllNamespacesOptions extends Omit<NamespacesListOptions, 'requestAs'> {
  readonly mode: NamespacesListOptions['mode'] & Pick<TenancyMode, 'reviewTenant'>;
  readonly access: AccessIndex;
  readonly subjects: AccessSubjects;
  readonly discovered: Pick<DiscoveryDocuments, 'resource'>;
  /** Undefined if RBAC alone authorizes users, so that the index knows what they may do. */
  readonly reviewer: AccessReviewer | undefined;
  readonly verifier: Pick<Verifier, 'isSuspended' | 'sampleNamespaces'>;
  readonly maxNamespaces: { readonly list: number; readonly watch: number };
}

type Answer = UpstreamResponse | StreamedAnswer | undefined;

export function createAllNamespacesAnswerer(options: AllNamespacesOptions): Answerer {
  return {
    answer(outgoing) {
      const { info } = outgoing;
      if (!info.isResourceRequest || !isAllNamespaces(outgoing)) return undefined;
      return options.access.state() === 'current' ? answer(outgoing, info, options) : undefined;
    },
  };
}

async function answer(
  outgoing: Outgoing,
  info: ResourceRequest,
  options: AllNamespacesOptions,
): Promise<Answer> {
  const { access, subjects, maxNamespaces, verifier } = options;
  const subject = await subjects.subjectOf(outgoing);
  if (verifier.isSuspended(subject.cluster)) return undefined;
  const { verb, apiGroup, resource } = info;
  const question = { verb, apiGroup, resource, tenant: tenantOf(outgoing, info, options) };
  const namespaces = permittedNamespaces(access.index, subject, question);
  if (namespaces === undefined || namespaces.length === 0) return undefined;
  if (!(await isNamespaced(outgoing, info, options))) return undefined;
  if (await isAllowedByOthers(outgoing, info, options)) return undefined;
  verifier.sampleNamespaces(subject, { ...question, subresource: '', name: '' }, namespaces);
  const most = verb === 'watch' ? maxNamespaces.watch : maxNamespaces.list;
  if (namespaces.length > most) throw tooMany(info, namespaces.length, most, subject);
  setImpersonationSent(outgoing);
  if (verb === 'watch') return undefined;
  const list = await listNamespaces(outgoing, info, namespaces, {
    ...options,
    requestAs: subjects.requestAs,
  });
  return list && (list.status === 200 ? asFiltered(list) : list);
}

/** In whose namespaces; empty if the API server has no tenants. */
function tenantOf({ tenant }: Outgoing, info: ResourceRequest, { mode }: AllNamespacesOptions): string {
  return info.tenant === '' ? (mode.reviewTenant(tenant) ?? '') : info.tenant;
}

async function isNamespaced(
  { tenant, exchange }: Outgoing,
  { apiGroup: group, apiVersion: version, resource }: ResourceRequest,
  { discovered }: AllNamespacesOptions,
): Promise<boolean> {
  const found = await discovered.resource(tenant, { group, version }, resource, exchange.signal);
  return found?.namespaced === true;
}

/** Whether an authorizer that the index does not know allows the request for the whole cluster. */
async function isAllowedByOthers(
  { user, sender, tenant, exchange }: Outgoing,
  info: ResourceRequest,
  { reviewer, mode }: AllNamespacesOptions,
): Promise<boolean> {
  if (reviewer === undefined) return false;
  const { verb, apiGroup: group, resource } = info;
  const home = mode.reviewTenant(tenant);
  const asked = info.tenant === '' ? home : info.tenant;
  const resourceAttributes = { verb, group, resource, ...(asked !== undefined && { tenant: asked }) };
  const subject = { user, sender, home, tenant };
  const { allowed } = await reviewOf(reviewer, subject, { resourceAttributes }, exchange.signal);
  return allowed;
}

function tooMany(
  { verb, resource, apiGroup }: ResourceRequest,
  count: number,
  most: number,
  { cluster }: SubjectByNamespace,
): StatusError {
  const qualified = apiGroup === '' ? resource : `${resource}.${apiGroup}`;
  return new StatusError(
    'TooManyNamespaces',
    `${qualified} is forbidden: User ${JSON.stringify(cluster.username)} can ${verb} resource ${JSON.stringify(resource)} in ${count} namespaces, but one request is sent to ${most} at most: request one namespace (-n NAMESPACE)`,
    { details: { ...(apiGroup !== '' && { group: apiGroup }), kind: resource } },
  );
}
