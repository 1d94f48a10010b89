/**
 * The look-up of roles that a configuration asks for.
 */

import type { Identity } from '../api/identity.ts';
import { namespaceOf } from '../bindings/namespace-name.ts';
import type { RoleAssignment } from '../bindings/ports.ts';
import { createRoleLookup, type RoleLookup } from '../bindings/role-lookup.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import {
  ANY_PROJECT_TAG,
  domainTag,
  EVERYTHING_TAG,
  projectTag,
  SWITCHED_OFF_TAG,
  tenantTag,
  userTag,
} from '../lib/drop-tags.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Adapters } from './adapters.ts';

/** More projects than these are not told apart when one is dropped: each tag is one more name to ask Redis for. */
const MAX_PROJECT_TAGS = 64;

/** @returns undefined where no roles are looked up */
export function roleLookupOf(
  loaded: LoadedConfiguration,
  adapters: Adapters,
  mode: TenancyMode,
): RoleLookup | undefined {
  const { authentication, bindings } = loaded.configuration;
  const { keystone } = authentication;
  if (keystone === undefined) return undefined;
  const caches = adapters.roles(loaded, keystone);
  const { directory } = adapters.keystone(loaded, keystone).client;
  if (caches === undefined || directory === undefined) return undefined;
  return createRoleLookup({
    source: directory,
    ...caches,
    namespaceOf(project) {
      const name = namespaceOf(project, bindings);
      return 'namespace' in name ? name.namespace : undefined;
    },
    tagsOf: (identity, assignments) => tagsOf(identity, assignments, mode),
    disabledTags: [EVERYTHING_TAG, SWITCHED_OFF_TAG],
  });
}

/** A person's entry can be dropped by Keystone's id, by the name the API server knows, with a project or their tenant. */
function tagsOf(
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
