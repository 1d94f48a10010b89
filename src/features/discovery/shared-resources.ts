/**
 * What Arktos' system tenant shares with every tenant: the resources of its definitions that are forced on
 * all, and the versions of its groups that a tenant can request.
 */

import { StatusError } from '../../errors/status-error.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import type { Account } from '../../kubernetes/upstream-request.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { GroupVersion } from '../../proxy/discovered-resources.ts';
import type { GroupDescription, ResourceNames } from '../../tenancy/reduce-discovery.ts';
import { type SystemDefinitions, withForced, withVersions } from '../../tenancy/system-definitions.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { type DocumentOwner, fetchDocument, nameOf, versionRoute } from './discovery-document.ts';
import type { SystemDiscovery } from './system-discovery.ts';

/** The shared resources of one version of a group. */
export interface SharedResources {
  /** The system tenant's. */
  readonly document: ResourceNames;
  /** The resources of it that every tenant has. */
  readonly forced: ReadonlySet<string>;
}

export interface SharedDiscoveryOptions {
  readonly fetcher: UpstreamFetcher;
  readonly mode: Pick<TenancyMode, 'facts'>;
  readonly system: SystemDiscovery;
}

const NOTHING_SHARED: SharedResources = { document: { groupVersion: '', resources: [] }, forced: new Set() };

/** Versions of groups that are asked for at once, of one document. */
const PROBES = 8;

export class SharedDiscovery {
  readonly #options: SharedDiscoveryOptions;

  constructor(options: SharedDiscoveryOptions) {
    this.#options = options;
  }

  /** @returns undefined if it cannot be read what the system tenant shares with every tenant */
  async resources(
    groupVersion: GroupVersion | undefined,
    account: Account,
    signal: AbortSignal,
  ): Promise<SharedResources | undefined> {
    const { mode, system } = this.#options;
    if (groupVersion === undefined || !mode.facts.operatorIsATenant) return NOTHING_SHARED;
    const definitions = await system.definitions(signal);
    if (definitions === undefined) return undefined;
    const forced = definitions.get(groupVersion.group);
    if (forced === undefined || forced.size === 0) return NOTHING_SHARED;
    const document = await system.resources(groupVersion, account, signal);
    return document && { document, forced };
  }

  /**
   * Arktos lists the system tenant's groups for every tenant: the versions that a tenant can request stay.
   *
   * @param definitions of the system tenant; undefined if they are not known
   */
  async requestable<T extends GroupDescription>(
    owner: DocumentOwner,
    groups: readonly T[],
    definitions: SystemDefinitions | undefined,
    signal: AbortSignal,
  ): Promise<T[]> {
    if (definitions === undefined) return [...groups];
    const candidates = groups
      .filter(({ name }) => definitions.has(name))
      .flatMap(({ name, versions }) => versions.map(({ version }) => ({ group: name, version })));
    const found = await mapWithConcurrency(candidates, PROBES, async (one) =>
      (await this.#hasVersion(owner, one, signal)) ? [nameOf(one)] : [],
    );
    const known = new Set(found.flat());
    return groups.flatMap((group) => {
      if (!definitions.has(group.name)) return [group];
      const own = withVersions(group, (version) => known.has(nameOf({ group: group.name, version })));
      return own === undefined ? [] : [own];
    });
  }

  /** A fault says nothing of the version: it stays listed. */
  async #hasVersion(owner: DocumentOwner, groupVersion: GroupVersion, signal: AbortSignal): Promise<boolean> {
    const route = versionRoute(owner.tenant, groupVersion);
    if (route === undefined) return true;
    try {
      const { fetcher } = this.#options;
      const { status } = await fetchDocument(fetcher, { ...owner, route, accept: JSON_TYPE }, signal);
      if (status !== 404) return true;
      const shared = await this.resources(groupVersion, owner.account, signal);
      return shared !== undefined && withForced(undefined, shared.document, shared.forced) !== undefined;
    } catch (error) {
      if (error instanceof StatusError && !signal.aborted) return true;
      throw error;
    }
  }
}
