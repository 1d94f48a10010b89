/**
 * Answers lists and watches of all namespaces (`kubectl get pods -A`) for users who may have them in some
 * namespaces only: the API server refuses such a request, so one is sent for each permitted namespace, as
 * the user, and the responses are merged. See docs/access.md.
 */
import { permittedNamespaces } from '../../access/all-namespaces/all-namespaces.ts';
import { WatchDecisions } from '../../access/all-namespaces/watch-decisions.ts';
import { createDecisionQueue } from '../../access/decision-queue.ts';
import { readListOptions } from '../../access/lists/list-options.ts';
import type { AccessIndex } from '../../access/ports.ts';
import type { Verifier } from '../../access/verification.ts';
import type { ResourceAttributes } from '../../api/authorization-v1.ts';
import type { ResourceRequest } from '../../api/request-info.ts';
import type { AccessReviewer } from '../../authorization/access-reviewer.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { Answerer } from '../delivery.ts';
import type { DiscoveryDocuments } from '../discovery/discovery-documents.ts';
import { preferredVersion } from '../discovery/preferred-version.ts';
import type { UpstreamResponse } from '../ports.ts';
import type { AccessSubjects } from '../rbac/access-subject.ts';
import { OtherAuthorizers } from '../rbac/other-authorizers.ts';
import { type Outgoing, setImpersonationSent } from '../request-context.ts';
import type { StreamedAnswer } from '../response/answer-stream.ts';
import { asFiltered } from '../response/filtered-response.ts';
import type { WouldMerge } from '../self-review/filtered-self-review.ts';
import { type MergedListOptions, mergedList } from './list.ts';
import type { MergedWatchRunOptions } from './merged-watch-run.ts';
import { permittedNow } from './permitted-namespaces.ts';
import { isAllNamespaces } from './request.ts';
import { type MergedWatchOptions, mergedWatch } from './watch.ts';

export interface AllNamespacesOptions
  extends Omit<MergedListOptions & MergedWatchOptions, 'requestAs' | 'decisions'>,
    Pick<MergedWatchRunOptions, 'clock' | 'random' | 'logger' | 'lifetimes'> {
  readonly mode: MergedListOptions['mode'] & MergedWatchOptions['mode'] & Pick<TenancyMode, 'reviewTenant'>;
  readonly access: AccessIndex;
  readonly subjects: AccessSubjects;
  readonly discovered: Pick<DiscoveryDocuments, 'resource' | 'get'>;
  /** Undefined if RBAC alone authorizes users, so that the index knows what they may do. */
  readonly reviewer: AccessReviewer | undefined;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly maxNamespaces: { readonly list: number; readonly watch: number };
  readonly decisions?: WatchDecisions;
}

type Answer = UpstreamResponse | StreamedAnswer | undefined;

export interface AllNamespacesAnswerer extends Answerer<Answer> {
  /**
   * Whether a request for the kind in all namespaces would be answered here for the user of the request; the
   * error if it would be refused here.
   */
  readonly wouldMerge: WouldMerge;
}

export function createAllNamespacesAnswerer(options: AllNamespacesOptions): AllNamespacesAnswerer {
  const others = new OtherAuthorizers(options);
  const { decisions = new WatchDecisions(options.access.index, createDecisionQueue(options.clock)) } =
    options;
  return {
    wouldMerge: (outgoing, attributes) => wouldMerge(outgoing, attributes, options, others),
    answer(outgoing) {
      const { info } = outgoing;
      if (!info.isResourceRequest || !isAllNamespaces(outgoing)) return undefined;
      return options.access.state(options.mode.reviewTenant(outgoing.tenant) ?? '') === 'current'
        ? answer(outgoing, info, { ...options, decisions }, others)
        : undefined;
    },
  };
}

async function answer(
  outgoing: Outgoing,
  info: ResourceRequest,
  options: AllNamespacesOptions & Pick<MergedWatchRunOptions, 'decisions'>,
  others: OtherAuthorizers,
): Promise<Answer> {
  const { access, subjects, maxNamespaces, verifier } = options;
  const subject = await subjects.subjectOf(outgoing);
  if (access.state(subject.cluster.tenant) !== 'current') return undefined;
  const { verb, apiGroup, resource } = info;
  const question = { verb, apiGroup, resource, tenant: tenantOf(outgoing, info, options) };
  const most = verb === 'watch' ? maxNamespaces.watch : maxNamespaces.list;
  const namespaces = permittedNamespaces(access.index, subject, question);
  if (namespaces === undefined || namespaces.length === 0) return undefined;
  if (!(await isNamespaced(outgoing, info, options))) return undefined;
  if (await others.allow(outgoing, clusterWide(info))) return undefined;
  verifier.sampleNamespaces(subject, { ...question, subresource: '', name: '' }, namespaces);
  if (namespaces.length > most) throw tooMany(info, namespaces.length, most, subject);
  const listOptions = readListOptions(info.rawQuery, verb === 'watch' ? 'watch' : 'list');
  setImpersonationSent(outgoing);
  const request = { outgoing, info, options: listOptions, namespaces };
  const requesting = { ...options, requestAs: subjects.requestAs };
  if (verb === 'watch') {
    const permitted = permittedNow(outgoing, subject, question, options);
    return filtered(await mergedWatch(request, { ...requesting, permitted }));
  }
  return filtered(await mergedList(request, requesting));
}

async function wouldMerge(
  outgoing: Outgoing,
  { verb = '', group: apiGroup = '', version = '', resource = '' }: ResourceAttributes,
  options: AllNamespacesOptions,
  others: OtherAuthorizers,
): Promise<boolean | StatusError> {
  const { access, subjects, maxNamespaces, mode, discovered } = options;
  const { tenant, info, exchange } = outgoing;
  if (!info.isResourceRequest) return false;
  const subject = await subjects.subjectOf(outgoing);
  if (access.state(subject.cluster.tenant) !== 'current') return false;
  const question = { verb, apiGroup, resource, tenant: mode.reviewTenant(tenant) ?? '' };
  const most = verb === 'watch' ? maxNamespaces.watch : maxNamespaces.list;
  const namespaces = permittedNamespaces(access.index, subject, question) ?? [];
  if (namespaces.length === 0) return false;
  const isNamed = version !== '' && version !== '*';
  const apiVersion = isNamed
    ? version
    : await preferredVersion(tenant, apiGroup, discovered, mode, exchange.signal);
  if (apiVersion === undefined) return false;
  const asked = { ...info, verb, apiGroup, apiVersion, resource, tenant: '' as const };
  if (!(await isNamespaced(outgoing, asked, options))) return false;
  if (await others.allow(outgoing, clusterWide(asked))) return false;
  return namespaces.length > most ? tooMany(asked, namespaces.length, most, subject) : true;
}

function filtered(response: Answer): Answer {
  return response?.status === 200 ? asFiltered(response) : response;
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

/** The request for the whole cluster, or the tenant that it names. */
function clusterWide({ verb, apiGroup: group, resource, tenant }: ResourceRequest): ResourceAttributes {
  return { verb, group, resource, ...(tenant !== '' && { tenant }) };
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
