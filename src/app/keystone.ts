/**
 * Keystone: its client, what is cached of its tokens and role assignments, and the follower of its
 * revocation events.
 */

import {
  ANY_PROJECT_TAG,
  domainTag,
  EVERYTHING_TAG,
  eventTag,
  projectTag,
  SWITCHED_OFF_TAG,
  tenantTag,
  userTag,
} from '../cache/drop-tags.ts';
import type { TieredCache } from '../cache/tiered.ts';
import { ComponentType, type Handle, RUNS_TO_THE_END } from '../config/component.ts';
import type { KeystoneConfiguration } from '../config/core-configuration.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Keystone, Shared } from '../features/build.ts';
import { createKeystoneClient } from '../identity/keystone/keystone.ts';
import { keystoneTokenCodec, tagsOfEvent, tagsOfToken } from '../identity/keystone/keystone-authenticator.ts';
import type { DisabledScopes } from '../identity/keystone/keystone-directory.ts';
import { identityOf } from '../identity/keystone/keystone-identity.ts';
import { createRevocations, type Revocations } from '../identity/keystone/keystone-revocations.ts';
import {
  assignmentsCodec,
  createRoleLookup,
  disabledScopesCodec,
  enabledUserCodec,
  type RoleLookup,
} from '../identity/keystone/role-lookup.ts';
import type { EnabledUsers } from '../identity/owners.ts';
import { createStartupProbe } from '../lib/startup-probe.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { KeystoneToken, RoleAssignment, UserReference } from '../tenancy/keystone-v3.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { type ConnectedBuild, cacheType, createBackendCache, longestLife } from './cache.ts';
import type { LoadedStonegate, StonegateBuild } from './configuration.ts';

/**
 * Entries of a user with more projects are dropped with any project: each tag is one more key to read in
 * Redis.
 */
const MAX_PROJECT_TAGS = 64;

const KEYSTONE = new ComponentType<Keystone>('Keystone', {
  start: ({ contact }) => contact.start(),
  dispose({ client, contact }) {
    contact.stop();
    return client.close();
  },
});

const REVOCATIONS = new ComponentType<Revocations>("Keystone's revocation events", RUNS_TO_THE_END);

/** The option `ca` of Keystone's clients; empty if the system's authorities are used. */
function caOf(loaded: LoadedStonegate, { caFile }: Pick<KeystoneConfiguration, 'caFile'>) {
  return caFile === undefined ? {} : { ca: loaded.file(caFile).toString() };
}

/** @returns undefined if no Keystone is configured */
export function createKeystone({
  generation,
  loaded,
  runtime,
}: StonegateBuild): Handle<Keystone> | undefined {
  const configuration = loaded.configuration.authentication.keystone;
  if (configuration === undefined) return undefined;
  const { url, timeout, serviceCredential: credential } = configuration;
  const ca = caOf(loaded, configuration);
  const secret = serviceSecret(loaded, configuration);
  return generation.component(KEYSTONE, {
    fingerprint: [configuration, ca, secret],
    create() {
      const given = { url, ...ca, ...(credential && { credential }), secret, timeout };
      const client = createKeystoneClient({ ...runtime, ...given });
      const contact = createStartupProbe({ ...runtime, name: 'keystone', contact: () => client.probe() });
      return { client, contact };
    },
  });
}

function serviceSecret(loaded: LoadedStonegate, { serviceCredential }: KeystoneConfiguration): string {
  if (serviceCredential === undefined) return '';
  return loaded.secret(
    'password' in serviceCredential
      ? serviceCredential.password.password
      : serviceCredential.applicationCredential.secret,
  );
}

/** Only a service credential may read the events. */
export function followRevocations(
  { generation, loaded, runtime }: StonegateBuild,
  keystone: Handle<Keystone> | undefined,
  shared: Handle<Shared>,
): void {
  const { revocationEvents = false } = loaded.configuration.authentication.keystone ?? {};
  const service = keystone?.client.service;
  if (service === undefined || revocationEvents === false) return;
  // Without Redis no entry is older than this process.
  const reach = loaded.configuration.cache.redis === undefined ? 0 : longestLife(loaded);
  generation.component(REVOCATIONS, {
    fingerprint: [revocationEvents, reach],
    uses: [keystone, shared],
    create: () =>
      createRevocations({
        ...runtime,
        service,
        interval: revocationEvents.interval,
        reach,
        // The replica that sees an event first drops the entries for all replicas.
        async revoked(event) {
          const done = eventTag(event.digest);
          if (await shared.cache.wasDropped(done)) return;
          await shared.cache.drop(tagsOfEvent(event));
          await shared.cache.drop([done]);
        },
      }),
  });
}

const TOKEN_CACHE = cacheType<KeystoneToken>('cache of Keystone tokens');

/** The cache of tokens that Keystone has validated. */
export function createTokenCache(
  build: ConnectedBuild,
  keystone: KeystoneConfiguration,
): TieredCache<KeystoneToken> {
  return createBackendCache(build, TOKEN_CACHE, {
    ttl: keystone.cacheTTL,
    negativeTTL: keystone.negativeCacheTTL,
    staleIfUnavailable: keystone.staleIfUnavailable,
    codec: keystoneTokenCodec,
  });
}

/** A token's entry can be dropped by Keystone's ids, by the user's name at the API server, or by tenant. */
export function tagsOfKeystoneToken(token: KeystoneToken, mode: TenancyMode): readonly string[] {
  const tags = tagsOfToken(token);
  try {
    const identity = identityOf(token);
    const tenant = mode.tenantOf(identity);
    return [...tags, tenantTag(tenant), userTag(mode.userOf(identity, tenant).username)];
  } catch (error) {
    // Keystone accepts the token, but it gives no user here. This is cached too, under Keystone's ids alone.
    if (error instanceof StatusError) return tags;
    throw error;
  }
}

const USERS = cacheType<UserReference>('cache of Keystone users');
const ASSIGNMENTS = cacheType<readonly RoleAssignment[]>('cache of Keystone roles');
const DISABLED_SCOPES = cacheType<DisabledScopes>('cache of disabled projects and domains');

type NamespaceOf = Parameters<typeof createRoleLookup>[0]['namespaceOf'];

export interface Roles extends EnabledUsers {
  readonly lookup: RoleLookup;
  /** Clears what is cached in this process. */
  clear(): void;
}

/** @returns undefined if the configuration asks for no look-up of roles */
export function createRoles(
  build: ConnectedBuild,
  mode: TenancyMode,
  namespaceOf: NamespaceOf,
): Roles | undefined {
  const { roleAssignments } = build.loaded.configuration.authentication.keystone ?? {};
  const directory = build.keystone?.client.directory;
  if (roleAssignments === undefined || directory === undefined) return undefined;
  const { cacheTTL: ttl, staleIfUnavailable } = roleAssignments;
  const lives = { ttl, negativeTTL: 0, staleIfUnavailable };
  const users = createBackendCache(build, USERS, { ...lives, codec: enabledUserCodec });
  const assignments = createBackendCache(build, ASSIGNMENTS, { ...lives, codec: assignmentsCodec });
  const disabled = createBackendCache(build, DISABLED_SCOPES, { ...lives, codec: disabledScopesCodec });
  const lookup = createRoleLookup({
    source: directory,
    assignments,
    disabled,
    namespaceOf,
    tagsOf: (identity, assignments) => tagsOfRoles(identity, assignments, mode),
    disabledTags: [EVERYTHING_TAG, SWITCHED_OFF_TAG],
  });
  return {
    lookup,
    async enabledUser(id) {
      return users.lookup(id, async () => {
        const value = await directory.enabledUser(id);
        const tags = [EVERYTHING_TAG, userTag(id)];
        return (
          value && { value, expiresAt: Number.MAX_SAFE_INTEGER, tags: [...tags, domainTag(value.domain.id)] }
        );
      });
    },
    clear() {
      users.clear();
      assignments.clear();
      disabled.clear();
    },
  };
}

/**
 * A user's entry can be dropped by Keystone's id, by the name at the API server, by project, domain or
 * tenant.
 */
function tagsOfRoles(
  identity: Identity,
  assignments: readonly RoleAssignment[],
  mode: TenancyMode,
): readonly string[] {
  const tenant = mode.tenantOf(identity);
  const { tenantOrigin, uid } = identity;
  const projects = new Set(
    assignments.flatMap(({ scope }) => (scope.kind === 'project' ? [projectTag(scope.project.id)] : [])),
  );
  return [
    EVERYTHING_TAG,
    userTag(uid),
    userTag(mode.userOf(identity, tenant).username),
    tenantTag(tenant),
    ...(tenantOrigin.from === 'domain' ? [domainTag(tenantOrigin.domain.id)] : []),
    ...(projects.size > MAX_PROJECT_TAGS ? [ANY_PROJECT_TAG] : projects),
  ];
}
