/**
 * What of Keystone's is kept beside tokens: who holds which role where, what is switched off, and the follower of
 * revocation events, which drops what it concerns from every cache. Each lives as long as what it is made of.
 */
import type { KeystoneConfiguration } from '../api/config-v1alpha1.ts';
import { tagsOfEvent } from '../authentication/keystone-cache.ts';
import type { DisabledScopes, RoleAssignment } from '../bindings/ports.ts';
import { assignmentsCodec, disabledScopesCodec } from '../bindings/role-lookup.ts';
import type { ClearableCredentialCache } from '../cache/credential-cache-parts.ts';
import type { SharedCache } from '../cache/shared-cache.ts';
import { createCredentialCache } from '../cache/tiered.ts';
import type { KeystoneClient } from '../clients/keystone.ts';
import { createRevocations, type Revocations } from '../clients/keystone-revocations.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { eventTag } from '../lib/drop-tags.ts';
import { createKept, type Keeping, keepTogether } from '../lib/kept.ts';
import { fingerprintOf, longestLife, type Surroundings, sharedMadeOf } from './made-of.ts';

export interface RoleCaches {
  readonly assignments: ClearableCredentialCache<readonly RoleAssignment[]>;
  readonly disabled: ClearableCredentialCache<DisabledScopes>;
}

export class KeystoneParts {
  readonly #around: Surroundings;
  readonly #roles = createKept<RoleCaches>((caches) => clear(caches));
  readonly #revocations = createKept<Revocations>(
    (revocations) => revocations.stop(),
    (revocations) => revocations.start(),
  );
  readonly all: Keeping = keepTogether(() => [this.#revocations, this.#roles]);

  constructor(surroundings: Surroundings) {
    this.#around = surroundings;
  }

  /** @returns undefined where no roles are looked up */
  roles(
    loaded: LoadedConfiguration,
    { roleAssignments }: KeystoneConfiguration,
    shared: SharedCache,
  ): RoleCaches | undefined {
    if (roleAssignments === undefined) return undefined;
    const { maxEntries } = loaded.configuration.cache;
    const lifetimes = {
      ttl: roleAssignments.cacheTTL,
      negativeTTL: 0,
      staleIfUnavailable: roleAssignments.staleIfUnavailable,
    };
    const common = { ...this.#around, ...lifetimes, shared, configurationDigest: loaded.identityDigest };
    return this.#roles.take(
      fingerprintOf(roleAssignments, maxEntries, loaded.identityDigest, sharedMadeOf(loaded)),
      () => ({
        assignments: createCredentialCache({
          ...common,
          name: 'keystone-roles',
          maxEntries,
          codec: assignmentsCodec,
        }),
        disabled: createCredentialCache({
          ...common,
          name: 'keystone-disabled',
          maxEntries: 1,
          codec: disabledScopesCodec,
        }),
      }),
    );
  }

  /** Begins to follow, or goes on, where the configuration says so. */
  follow(
    loaded: LoadedConfiguration,
    { revocationEvents }: KeystoneConfiguration,
    { quietService }: KeystoneClient,
    clientMadeOf: string,
    shared: SharedCache,
  ): void {
    if (quietService === undefined || revocationEvents === false) return;
    const madeOf = fingerprintOf(clientMadeOf, revocationEvents, sharedMadeOf(loaded));
    this.#revocations.take(madeOf, () =>
      createRevocations({
        ...this.#around,
        service: quietService,
        interval: revocationEvents.interval,
        // Without Redis nothing is older than this process.
        reach: loaded.configuration.cache.redis === undefined ? 0 : longestLife(loaded),
        // Whichever replica sees it first carries it out for all.
        async revoked(event) {
          const done = eventTag(event.digest);
          if (await shared.wasDropped(done)) return;
          await shared.drop(tagsOfEvent(event));
          await shared.drop([done]);
        },
      }),
    );
  }

  forget(): void {
    if (this.#roles.current !== undefined) clear(this.#roles.current);
  }
}

function clear({ assignments, disabled }: RoleCaches): void {
  assignments.clear();
  disabled.clear();
}
