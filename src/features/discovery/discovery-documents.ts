/**
 * A tenant's discovery documents: fetched as Stonegate itself, reduced to what the tenant may see, completed
 * by what the system tenant shares with all, and cached for seconds, since a kubectl without a cache asks
 * some forty in a row. The user's identity is not on these requests, so their paths are a closed list
 * (`tenancy/discovery-paths.ts`).
 */

import type { DocumentCache } from '../../cache/document-cache.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Account } from '../../kubernetes/upstream-request.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { DiscoveredResources, GroupVersion } from '../../proxy/discovered-resources.ts';
import { withOwnAPIGroup } from '../../proxy/own-discovery.ts';
import { type DiscoveryRoute, discoveryRoute, isHealth } from '../../tenancy/discovery-paths.ts';
import {
  groupListSchema,
  groupSchema,
  type ResourceDescription,
  reduceGroups,
  reduceResources,
  resourceListSchema,
} from '../../tenancy/reduce-discovery.ts';
import { withForced } from '../../tenancy/system-definitions.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import {
  type DocumentOwner,
  type DocumentRequest,
  documentOf,
  fetchDocument,
  groupVersionOf,
  JSON_RESPONSE,
  NOT_FOUND,
  unreadable,
  versionRoute,
  withBody,
} from './discovery-document.ts';
import { SharedDiscovery } from './shared-resources.ts';
import type { SystemDiscovery } from './system-discovery.ts';

export interface DiscoveryDocumentsOptions {
  readonly fetcher: UpstreamFetcher;
  /** Must keep responses with status 200 only. */
  readonly cache: DocumentCache<UpstreamResponse>;
  readonly mode: Pick<TenancyMode, 'facts' | 'hiddenResources' | 'readableResources' | 'hiddenGroups'>;
  readonly system: SystemDiscovery;
}

export class DiscoveryDocuments implements DiscoveredResources {
  readonly #options: DiscoveryDocumentsOptions;
  readonly #shared: SharedDiscovery;
  readonly #resourcesOf = memoizeByReference((response: UpstreamResponse) =>
    documentOf(response, resourceListSchema),
  );
  /** Documents that may lack what the system tenant shares: good enough to be shown, not to decide by. */
  readonly #incomplete = new WeakSet<UpstreamResponse>();

  constructor(options: DiscoveryDocumentsOptions) {
    this.#options = options;
    this.#shared = new SharedDiscovery(options);
  }

  /**
   * @param accept one of a small, fixed number per path
   * @param account on which it is fetched, if it is not known
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
   */
  get(
    tenant: TenantName,
    route: DiscoveryRoute,
    accept: string,
    signal: AbortSignal,
    account: Account = { kind: 'tenant', tenant },
  ): Promise<UpstreamResponse> {
    return this.#get({ tenant, account, route, accept }, !isHealth(route.path), signal);
  }

  async resource(
    tenant: TenantName,
    groupVersion: GroupVersion,
    name: string,
    signal: AbortSignal,
    account: Account = { kind: 'tenant', tenant },
  ): Promise<ResourceDescription | undefined> {
    const route = versionRoute(this.#named(tenant), groupVersion);
    if (route === undefined) return undefined;
    const request = { tenant, account, route, accept: JSON_TYPE };
    return (
      (await this.#describe(request, name, true, signal)) ??
      (await this.#describe(request, name, false, signal))
    );
  }

  async preferredVersion(
    tenant: TenantName,
    group: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (group === '') return 'v1';
    const route = discoveryRoute(`/apis/${group}`, this.#named(tenant));
    if (route?.reduce !== 'group') return undefined;
    const response = await this.get(tenant, route, JSON_TYPE, signal);
    return response.status === 200 ? documentOf(response, groupSchema).preferredVersion?.version : undefined;
  }

  /** The tenant as requests name it. */
  #named(tenant: TenantName): TenantName | undefined {
    return this.#options.mode.facts.hasTenantsInPaths ? tenant : undefined;
  }

  /** @param reusable whether a document that was fetched before may be returned */
  #get(request: DocumentRequest, reusable: boolean, signal: AbortSignal): Promise<UpstreamResponse> {
    const { tenant, account, route, accept } = request;
    // The tenant in the query is the owner.
    const key = JSON.stringify([route.path, accept]);
    return this.#options.cache.get({ owner: tenant, ...queueOf(account), key, reusable }, signal, (wanted) =>
      this.#load(request, wanted),
    );
  }

  async #load(request: DocumentRequest, signal: AbortSignal): Promise<UpstreamResponse> {
    const { route } = request;
    const response = await fetchDocument(this.#options.fetcher, request, signal);
    if (route.reduce === 'resources') return this.#reduceResources(request, response, signal);
    if (route.reduce === 'none' || response.status !== 200) return response;
    return route.reduce === 'groups'
      ? this.#reduceGroups(request, response, signal)
      : this.#reduceGroup(request, response, signal);
  }

  async #reduceGroups(
    { tenant, account }: DocumentOwner,
    response: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const { system, mode } = this.#options;
    const list = documentOf(response, groupListSchema);
    const definitions = await system.definitions(signal);
    const { groups } = reduceGroups(list, mode.hiddenGroups);
    const own = await this.#shared.requestable({ tenant, account }, groups, definitions, signal);
    return withBody(response, withOwnAPIGroup({ ...list, groups: own }));
  }

  async #reduceGroup(
    { tenant, account }: DocumentOwner,
    response: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const group = documentOf(response, groupSchema);
    const definitions = await this.#options.system.definitions(signal);
    if (definitions?.has(group.name) !== true) return response;
    const [own] = await this.#shared.requestable({ tenant, account }, [group], definitions, signal);
    return own === undefined ? NOT_FOUND : withBody(response, own);
  }

  async #reduceResources(
    { account, route }: DocumentRequest,
    response: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    if (response.status !== 200 && response.status !== 404) return response;
    const { mode } = this.#options;
    const own = response.status === 200 ? documentOf(response, resourceListSchema) : undefined;
    const shared = await this.#shared.resources(groupVersionOf(route.path), account, signal);
    const all = shared === undefined ? own : withForced(own, shared.document, shared.forced);
    const base = own === undefined ? JSON_RESPONSE : response;
    const reduced = all && reduceResources(all, mode.hiddenResources, mode.readableResources);
    const document = reduced === undefined ? response : withBody(base, reduced);
    if (shared === undefined) this.#incomplete.add(document);
    return document;
  }

  async #describe(
    request: DocumentRequest,
    name: string,
    reusable: boolean,
    signal: AbortSignal,
  ): Promise<ResourceDescription | undefined> {
    const response = await this.#get(request, reusable, signal);
    if (this.#incomplete.has(response)) {
      if (reusable) return undefined;
      throw unreadable('what the system tenant shares with all tenants cannot be read');
    }
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw unreadable(`its status was ${response.status}`);
    return this.#resourcesOf(response).resources.find((resource) => resource.name === name);
  }
}

/** Guests wait on their own tenant's account: users of the entered tenant do not wait with them. */
function queueOf(account: Account): { readonly queue?: string } {
  return account.kind === 'tenant' && account.guests ? { queue: `guests of ${account.tenant}` } : {};
}
