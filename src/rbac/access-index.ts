/**
 * The RBAC index of this process, and how far it can be trusted: each resource must prove from time to time
 * that its watch is alive. A watch that is silently dead looks like a cluster in which nothing changes.
 */

import { type AuthorizationMode, isRBACAlone } from '../kubernetes/authorization-mode.ts';
import { INDEXED_RESOURCES, type IndexedResource } from '../kubernetes/rbac-v1.ts';
import type { Clock } from '../lib/clock.ts';
import type { Scope } from './attributes.ts';
import type { RBACIndex } from './rbac-index.ts';

/**
 * Milliseconds without a proof of life after which a resource is stale. An API server sends a bookmark every
 * minute, and without bookmarks the resource is listed every minute: several of them are missing then.
 */
export const STALE_AFTER = 5 * 60_000;

const OFF = 'the RBAC index is off: the roles and bindings are more than it holds (access.maxIndexBytes)';
const TOO_LARGE = 'the RBAC index leaves out roles and bindings of over 64 kB';

export interface AccessIndexOptions {
  readonly index: RBACIndex;
  /** When the resource was last known to be complete, in milliseconds since the epoch; undefined before. */
  readonly provenAt: (resource: IndexedResource) => number | undefined;
  readonly clock: Clock;
}

/**
 * `notSynced`: some resource has never been listed; requests are forwarded as if there were no index.
 * `stale`: some resource has shown no progress for too long; what the index would authorize is forwarded
 * unchanged, and what it enumerates is incomplete. `off`: the objects of the tenant do not fit in the index;
 * likewise.
 */
export type IndexState = 'notSynced' | 'current' | 'stale' | 'off';

export class AccessIndex {
  readonly index: RBACIndex;
  readonly #options: AccessIndexOptions;
  readonly #stopping = new AbortController();

  constructor(options: AccessIndexOptions) {
    this.index = options.index;
    this.#options = options;
  }

  /**
   * Aborted when a reload has replaced the index, and at the end of the process: watches that are answered
   * from it end then.
   */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** @param tenant whose bindings count; empty if the API server has no tenants */
  state(tenant: string): IndexState {
    if (!this.index.isSynced) return 'notSynced';
    if (this.#stale() !== undefined) return 'stale';
    return this.index.isOff(tenant) ? 'off' : 'current';
  }

  /**
   * Why an enumeration from the index may lack something now: one sentence for users, without a full stop.
   *
   * @param tenant as of `state`
   * @param scope what is enumerated
   * @returns undefined if it lacks nothing
   */
  incompleteReason(tenant: string, scope: Scope): string | undefined {
    if (!this.index.isSynced) {
      const missing = INDEXED_RESOURCES.filter((resource) => this.index.revisionOf(resource) === undefined);
      return `the API server's ${missing.join(', ')} have not been listed yet`;
    }
    const stale = this.#stale();
    if (stale !== undefined)
      return `the API server has sent no news of its ${stale} for over ${STALE_AFTER / 60_000} minutes`;
    if (this.index.isOff(tenant)) return OFF;
    return this.index.hasTooLarge(tenant, scope) ? TOO_LARGE : undefined;
  }

  stop(): void {
    this.#stopping.abort();
  }

  #stale(): IndexedResource | undefined {
    const { provenAt, clock } = this.#options;
    const oldest = clock.now() - STALE_AFTER;
    return INDEXED_RESOURCES.find((resource) => (provenAt(resource) ?? oldest) < oldest);
  }
}

export interface RulesTrust {
  readonly access: AccessIndex;
  /** The authorization modes that the operator states. */
  readonly authorizers: readonly AuthorizationMode[];
}

/**
 * Why the rules of one user may lack something: one sentence for users, without a full stop.
 *
 * @param tenant whose bindings count; empty if the API server has no tenants
 * @returns undefined if the rules are all that the user may do
 */
export function incompleteRulesReason(
  tenant: string,
  scope: Scope,
  { access, authorizers }: RulesTrust,
): string | undefined {
  return access.incompleteReason(tenant, scope) ?? rightsOutsideRBAC(authorizers);
}

/** @returns why a user may have rights that no RBAC object grants; undefined if that cannot be */
function rightsOutsideRBAC(authorizers: readonly AuthorizationMode[]): string | undefined {
  if (isRBACAlone(authorizers)) return undefined;
  if (authorizers.length === 0)
    return "Stonegate's operator has not stated in access.authorizers that RBAC alone decides; another authorizer may allow more";
  return `access.authorizers names ${authorizers.join(', ')}; others than RBAC may decide otherwise`;
}
