/**
 * A tenant's discovery documents: fetched as Stonegate itself, reduced to what the tenant may see, completed
 * by what the system tenant shares with all, and cached for seconds, since a kubectl without a cache asks
 * some forty in a row. The user's identity is not on these requests, so their paths are a closed list
 * (`tenancy/discovery-paths.ts`).
 */

import type { TenantName } from '../../api/identity.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { DocumentCache } from '../../lib/document-cache.ts';
import { headerValues } from '../../lib/header-list.ts';
import { firstParameter } from '../../lib/query.ts';
import { isHealth } from '../../tenancy/discovery-paths.ts';
import { withOwnAPIGroup } from '../../tenancy/own-discovery.ts';
import {
  type GroupDescription,
  type ResourceDescription,
  type ResourceNames,
  readGroup,
  readGroupList,
  readResourceList,
  reduceGroups,
  reduceResources,
} from '../../tenancy/reduce-discovery.ts';
import { type SystemDefinitions, withForced, withVersions } from '../../tenancy/system-definitions.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { Answerer } from '../delivery.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../ports.ts';
import {
  type DiscoveryRoute,
  discoveryForm,
  documentOf,
  type GroupVersion,
  groupVersionOf,
  JSON_ANSWER,
  NOT_FOUND,
  nameOf,
  refusedRights,
  relayedHeaders,
  unreadable,
  versionRoute,
  withBody,
} from './discovery-document.ts';
import type { SystemDiscovery } from './system-discovery.ts';

export interface DiscoveryDocumentsOptions {
  readonly fetcher: UpstreamFetcher;
  /** Must keep answers with status 200 only. */
  readonly cache: DocumentCache<UpstreamResponse>;
  readonly mode: Pick<
    TenancyMode,
    'hiddenResources' | 'readableResources' | 'hiddenGroups' | 'readsTenantFromPath'
  >;
  readonly system: SystemDiscovery;
}

export interface DiscoveryDocuments {
  /**
   * @param accept one of a small, fixed number per path
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
   */
  get(
    tenant: TenantName,
    route: DiscoveryRoute,
    accept: string,
    signal: AbortSignal,
  ): Promise<UpstreamResponse>;
  /**
   * A resource as the tenant's discovery describes it. A document without it is asked for anew, since it may
   * be older than the resource. So is one that was made while the system tenant's share in it could not be
   * read.
   *
   * @returns undefined if the tenant has no such resource
   * @throws StatusError UpstreamUnavailable (also if what the system tenant shares cannot be read),
   *   UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
   */
  resource(
    tenant: TenantName,
    groupVersion: GroupVersion,
    name: string,
    signal: AbortSignal,
  ): Promise<ResourceDescription | undefined>;
}

/** Of one version of a group. */
interface SharedResources {
  /** The system tenant's. */
  readonly document: ResourceNames;
  /** The resources of it that every tenant has. */
  readonly forced: ReadonlySet<string>;
}

const NOTHING_SHARED: SharedResources = { document: { groupVersion: '', resources: [] }, forced: new Set() };

/** Versions of groups that are asked for at once, of one document. */
const PROBES = 8;

export function createDiscoveryDocuments(options: DiscoveryDocumentsOptions): DiscoveryDocuments {
  const { fetcher, cache, mode, system } = options;
  const described = new WeakMap<UpstreamResponse, ResourceNames>();
  /** Documents that may lack what the system tenant shares: good enough to be shown, not to decide by. */
  const incomplete = new WeakSet<UpstreamResponse>();

  async function ask(
    tenant: TenantName,
    { path, query }: Pick<DiscoveryRoute, 'path' | 'query'>,
    accept: string,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const { status, headers, body } = await fetcher.fetch(
      {
        account: { kind: 'tenant', tenant },
        sender: { kind: 'stonegate' },
        method: 'GET',
        target: query === '' ? path : `${path}?${query}`,
        headers: [['Accept', accept]],
      },
      signal,
    );
    // No user is on the request, so the refusal is about Stonegate's own rights.
    if (status === 403) throw refusedRights();
    return { status, headers: relayedHeaders(headers), body };
  }

  async function load(
    tenant: TenantName,
    route: DiscoveryRoute,
    accept: string,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const answer = await ask(tenant, route, accept, signal);
    if (route.reduce === 'resources') return loadResources(route, answer, signal);
    if (route.reduce === 'none' || answer.status !== 200) return answer;
    return route.reduce === 'groups' ? loadGroups(tenant, answer, signal) : loadGroup(tenant, answer, signal);
  }

  async function loadGroups(
    tenant: TenantName,
    answer: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const list = documentOf(answer, readGroupList);
    const definitions = await system.definitions(signal);
    const { groups } = reduceGroups(list, mode.hiddenGroups);
    const all = { ...list, groups: await ownGroups(tenant, groups, definitions, signal) };
    return withBody(answer, withOwnAPIGroup(all));
  }

  async function loadGroup(
    tenant: TenantName,
    answer: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const group = documentOf(answer, readGroup);
    const definitions = await system.definitions(signal);
    if (definitions?.has(group.name) !== true) return answer;
    const [own] = await ownGroups(tenant, [group], definitions, signal);
    return own === undefined ? NOT_FOUND : withBody(answer, own);
  }

  /**
   * Arktos lists the system tenant's groups for every tenant: the versions that a tenant can request stay.
   */
  async function ownGroups<T extends GroupDescription>(
    tenant: TenantName,
    groups: readonly T[],
    definitions: SystemDefinitions | undefined,
    signal: AbortSignal,
  ): Promise<T[]> {
    if (definitions === undefined) return [...groups];
    const doubtful = groups
      .filter(({ name }) => definitions.has(name))
      .flatMap(({ name, versions }) => versions.map(({ version }) => ({ group: name, version })));
    const found = await mapWithConcurrency(doubtful, PROBES, async (one) =>
      (await hasVersion(tenant, one, signal)) ? [nameOf(one)] : [],
    );
    const known = new Set(found.flat());
    return groups.flatMap((group) => {
      if (!definitions.has(group.name)) return [group];
      const own = withVersions(group, (version) => known.has(nameOf({ group: group.name, version })));
      return own === undefined ? [] : [own];
    });
  }

  /** A fault says nothing of the version: it stays listed. */
  async function hasVersion(
    tenant: TenantName,
    groupVersion: GroupVersion,
    signal: AbortSignal,
  ): Promise<boolean> {
    const route = versionRoute(tenant, groupVersion);
    if (route === undefined) return true;
    try {
      const answer = await ask(tenant, route, JSON_TYPE, signal);
      if (answer.status !== 404) return true;
      const shared = await sharedResources(groupVersion, signal);
      return shared !== undefined && withForced(undefined, shared.document, shared.forced) !== undefined;
    } catch (error) {
      if (error instanceof StatusError && !signal.aborted) return true;
      throw error;
    }
  }

  async function loadResources(
    route: DiscoveryRoute,
    answer: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    if (answer.status !== 200 && answer.status !== 404) return answer;
    const own = answer.status === 200 ? documentOf(answer, readResourceList) : undefined;
    const shared = await sharedResources(groupVersionOf(route.path), signal);
    const all = shared === undefined ? own : withForced(own, shared.document, shared.forced);
    const base = own === undefined ? JSON_ANSWER : answer;
    const reduced = all && reduceResources(all, mode.hiddenResources, mode.readableResources);
    const document = reduced === undefined ? answer : withBody(base, reduced);
    if (shared === undefined) incomplete.add(document);
    return document;
  }

  /** @returns undefined if it cannot be read what the system tenant shares with every tenant */
  async function sharedResources(
    groupVersion: GroupVersion | undefined,
    signal: AbortSignal,
  ): Promise<SharedResources | undefined> {
    if (groupVersion === undefined || !mode.readsTenantFromPath) return NOTHING_SHARED;
    const { group, version } = groupVersion;
    const definitions = await system.definitions(signal);
    if (definitions === undefined) return undefined;
    const forced = definitions.get(group);
    if (forced === undefined || forced.size === 0) return NOTHING_SHARED;
    const document = await system.resources(group, version, signal);
    return document && { document, forced };
  }

  async function describe(
    tenant: TenantName,
    route: DiscoveryRoute,
    name: string,
    reusable: boolean,
    signal: AbortSignal,
  ): Promise<ResourceDescription | undefined> {
    const answer = await get(tenant, route, JSON_TYPE, signal, reusable);
    if (incomplete.has(answer)) {
      if (reusable) return undefined;
      throw unreadable('what the system tenant shares with all tenants cannot be read');
    }
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw unreadable(`its status was ${answer.status}`);
    const known = described.get(answer) ?? documentOf(answer, readResourceList);
    described.set(answer, known);
    return known.resources.find((resource) => resource.name === name);
  }

  function get(
    tenant: TenantName,
    route: DiscoveryRoute,
    accept: string,
    signal: AbortSignal,
    reusable: boolean,
  ): Promise<UpstreamResponse> {
    const version = firstParameter(route.query, 'hash');
    return cache.get(
      {
        owner: tenant,
        // The tenant in the query is the owner, and the hash is the version.
        key: JSON.stringify([route.path, accept, version !== undefined]),
        ...(version === undefined ? {} : { version }),
        reusable,
      },
      signal,
      (wanted) => load(tenant, route, accept, wanted),
    );
  }

  return {
    get: (tenant, route, accept, signal) => get(tenant, route, accept, signal, !isHealth(route.path)),
    async resource(tenant, groupVersion, name, signal) {
      const route = versionRoute(mode.readsTenantFromPath ? tenant : undefined, groupVersion);
      if (route === undefined) return undefined;
      return (
        (await describe(tenant, route, name, true, signal)) ??
        (await describe(tenant, route, name, false, signal))
      );
    },
  };
}

export function createDiscoveryAnswerer(documents: DiscoveryDocuments): Answerer<UpstreamResponse> {
  return {
    answer({ route, tenant, exchange }) {
      if (route.kind !== 'discovery') return undefined;
      const accepted = headerValues(exchange.headers, 'accept').join();
      const accept = isHealth(route.path) ? '*/*' : discoveryForm(route.path, accepted);
      return documents.get(tenant, route, accept, exchange.signal);
    },
  };
}
