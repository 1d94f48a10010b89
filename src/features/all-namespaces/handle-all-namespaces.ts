/**
 * Answers lists and watches of all namespaces (`kubectl get pods -A`) for users who may have them in some
 * namespaces only: the API server refuses such a request, so one is sent for each permitted namespace, as
 * the user, and the responses are merged. See docs/access.md.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import { readListOptions } from '../../kubernetes/lists/list-options.ts';
import { digitsIn, revisionIn, withoutDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import { answerFiltered, type FilteringOptions, goesOnFromFiltered } from '../../proxy/answer-filtered.ts';
import type { DiscoveredResources } from '../../proxy/discovered-resources.ts';
import type { Handled, OwnResponse, RouteHandler } from '../../proxy/feature.ts';
import type { WouldMerge } from '../../proxy/filtered-reason.ts';
import { type Outgoing, setImpersonationSent } from '../../proxy/request-context.ts';
import { asFiltered, EXPIRED_WATCH } from '../../proxy/response/own-responses.ts';
import { type ListRequest, listRequest } from '../../proxy/route-kind.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import type { SharedIndex } from '../rbac-index/feature.ts';
import { MergedList, type MergedListOptions } from './merged-list.ts';
import type { MergedWatchOptions } from './merged-watch.ts';
import { type RefusalOptions, untilNoneRefused } from './namespace-refused.ts';
import type { AllNamespacesRequest } from './namespace-request.ts';
import {
  type AllNamespacesQuestion,
  mayWatchIn,
  type PermittedNamespaces,
  permittedNamespaces,
} from './permitted-namespaces.ts';
import { WatchOpening } from './watch-opening.ts';

export interface AllNamespacesOptions
  extends MergedListOptions,
    MergedWatchOptions,
    RefusalOptions,
    FilteringOptions {
  readonly mode: MergedListOptions['mode'] & MergedWatchOptions['mode'] & FilteringOptions['mode'];
  readonly subjects: AccessSubjects;
  readonly discovered: Pick<DiscoveredResources, 'resource' | 'preferredVersion'>;
  readonly verifier: Pick<SharedIndex['verifier'], 'sampleNamespaces'>;
  readonly maxNamespaces: number;
}

export interface MergedNamespaces {
  readonly handle: RouteHandler;
  /**
   * Whether a request for the kind in all namespaces would be answered here for the user of the request; the
   * error if it would be refused here.
   */
  readonly wouldMerge: WouldMerge;
}

export function createMergedNamespaces(options: AllNamespacesOptions): MergedNamespaces {
  return {
    wouldMerge: (outgoing, attributes) => wouldMerge(outgoing, attributes, options),
    async handle(outgoing) {
      const { access, mode } = options;
      const isCurrent = access.state(mode.reviewTenant(outgoing.tenant) ?? '') === 'current';
      return isCurrent ? handle(outgoing, listRequest(outgoing), options) : undefined;
    },
  };
}

interface Selected {
  readonly subject: SubjectByNamespace;
  readonly permitted: PermittedNamespaces;
  readonly question: AllNamespacesQuestion;
}

async function handle(
  outgoing: Outgoing,
  info: ListRequest,
  options: AllNamespacesOptions,
): Promise<Handled> {
  const { index } = options.access;
  const goesOn = goesOnFromFiltered(info, index.highestRevision);
  const selected = await select(outgoing, info, options);
  if (typeof selected !== 'object') return unmerged(selected, goesOn);
  const everywhere = { ...selected.question, verb: info.verb, subresource: '', namespace: '', name: '' };
  const isAllowed = () => allows(index, selected.subject.cluster, everywhere);
  const filtered = () => merged(outgoing, info, selected, options);
  return answerFiltered({ outgoing, info, goesOn, isAllowed, filtered }, options);
}

/** A watch that goes on from a filtered list, by a user whose list would not be filtered now, has expired. */
function unmerged(selected: 'unfiltered' | undefined, goesOn: boolean): OwnResponse | undefined {
  return selected === 'unfiltered' && goesOn ? EXPIRED_WATCH : undefined;
}

async function merged(
  outgoing: Outgoing,
  info: ListRequest,
  first: Selected,
  options: AllNamespacesOptions,
): Promise<OwnResponse | undefined> {
  const { signal } = outgoing.exchange;
  const goesOn = goesOnFromFiltered(info, options.access.index.highestRevision);
  const merging =
    info.verb === 'watch' ? new WatchOpening(options, signal) : new MergedList(options, outgoing.tenant);
  let selected: Awaited<ReturnType<typeof select>> = first;
  const attempt = async (refused: string | undefined) => {
    if (refused !== undefined) selected = await select(outgoing, info, options);
    if (typeof selected !== 'object') return unmerged(selected, goesOn);
    const request = requestFor(outgoing, info, selected, options);
    return request === 'expired' ? EXPIRED_WATCH : merging.respond(request, refused);
  };
  try {
    const response = await untilNoneRefused(attempt, `${info.verb} ${info.resource}`, signal, options);
    return response?.status === 200 ? asFiltered(response) : response;
  } finally {
    merging.close();
  }
}

/**
 * @returns undefined if the API server answers, perhaps with 403; `unfiltered` if the user may list in the
 *   whole cluster
 */
async function select(
  outgoing: Outgoing,
  info: ResourceRequest,
  options: AllNamespacesOptions,
): Promise<Selected | 'unfiltered' | undefined> {
  const { access, subjects, mode } = options;
  const { index } = access;
  const subject = await subjects.subjectOf(outgoing);
  if (access.state(subject.cluster.tenant) !== 'current') return undefined;
  const { verb, apiGroup, resource } = info;
  const tenant = info.tenant === '' ? (mode.reviewTenant(outgoing.tenant) ?? '') : info.tenant;
  const question = { apiGroup, resource, tenant };
  const permitted = permittedNamespaces(index, subject, question);
  if (permitted === undefined || permitted === 'unfiltered') return permitted;
  if (!(await isNamespaced(outgoing, info, options))) return undefined;
  if (verb === 'watch' && !mayWatchIn(index, subject, question, permitted)) return undefined;
  return { subject, permitted, question };
}

/** @returns `expired` for a watch from a list of other namespaces */
function requestFor(
  outgoing: Outgoing,
  info: ListRequest,
  { subject, permitted, question }: Selected,
  { access, maxNamespaces, verifier }: AllNamespacesOptions,
): AllNamespacesRequest | 'expired' {
  const { verb } = info;
  const sampled = { ...question, verb: 'list', subresource: '', name: '' } as const;
  verifier.sampleNamespaces(subject, sampled, permitted.names);
  if (permitted.names.length > maxNamespaces) throw tooMany(info, permitted, maxNamespaces, subject);
  const listOptions = readListOptions(info.rawQuery, verb);
  const { resourceVersion, sendInitialEvents } = listOptions;
  const isResumed = verb === 'watch' && resourceVersion !== '0' && sendInitialEvents !== true;
  if (isResumed && digitsIn(resourceVersion) !== permitted.digits) return 'expired';
  setImpersonationSent(outgoing);
  const revision = isResumed
    ? revisionIn(resourceVersion)
    : withoutDigits(resourceVersion, access.index.highestRevision);
  return { outgoing, info, subject, question, options: listOptions, permitted, revision };
}

async function wouldMerge(
  outgoing: Outgoing,
  { verb = '', group: apiGroup = '', version = '', resource = '' }: ResourceAttributes,
  options: AllNamespacesOptions,
): Promise<boolean | StatusError> {
  const { maxNamespaces, discovered } = options;
  const { tenant, info, exchange } = outgoing;
  if (!info.isResourceRequest) return false;
  const isNamed = version !== '' && version !== '*';
  const apiVersion = isNamed ? version : await discovered.preferredVersion(tenant, apiGroup, exchange.signal);
  if (apiVersion === undefined) return false;
  const asked = { ...info, verb, apiGroup, apiVersion, resource, tenant: '' as const };
  const selected = await select(outgoing, asked, options);
  if (selected === undefined || selected === 'unfiltered') return false;
  const { permitted, subject } = selected;
  return permitted.names.length > maxNamespaces ? tooMany(asked, permitted, maxNamespaces, subject) : true;
}

async function isNamespaced(
  { tenant, exchange }: Outgoing,
  { apiGroup: group, apiVersion: version, resource }: ResourceRequest,
  { discovered }: AllNamespacesOptions,
): Promise<boolean> {
  const found = await discovered.resource(tenant, { group, version }, resource, exchange.signal);
  return found?.namespaced === true;
}

function tooMany(
  { verb, resource, apiGroup }: ResourceRequest,
  { names }: PermittedNamespaces,
  most: number,
  { cluster }: SubjectByNamespace,
): StatusError {
  const qualified = apiGroup === '' ? resource : `${resource}.${apiGroup}`;
  return new StatusError(
    'TooManyNamespaces',
    `${qualified} is forbidden: User ${JSON.stringify(cluster.username)} can ${verb} resource ${JSON.stringify(resource)} in ${names.length} namespaces, but one request is sent to ${most} at most: request one namespace (-n NAMESPACE)`,
    { details: { ...(apiGroup !== '' && { group: apiGroup }), kind: resource } },
  );
}
