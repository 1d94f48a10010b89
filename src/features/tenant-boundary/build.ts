/**
 * What keeps users in their tenant: paths of other tenants, resources that all tenants share, and connections
 * into pods without the right to open them.
 */
import type { Feature } from '../../proxy/feature.ts';
import type { ProxyBuild } from '../build.ts';
import { createConnectCreate } from './connect-create.ts';
import type { TenantBoundaryParts } from './feature.ts';
import { createPathBoundary, createSharedResources } from './tenant-boundary.ts';
import { createUpgradePlaces } from './upgrade-places.ts';

export function createTenantBoundary({
  parts: { sharedAPIGroups },
  mode,
  reviewer,
  reasonOf,
  discovery,
}: ProxyBuild<TenantBoundaryParts>): Feature {
  const { mayBeShared } = mode;
  return {
    authorizers: [
      createUpgradePlaces(mode),
      ...(mode.facts.hasTenantsInPaths ? [createPathBoundary(mode)] : []),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant, reasonOf }),
      ...(mayBeShared === undefined
        ? []
        : [
            createSharedResources({
              discovered: discovery.resources,
              mayBeShared,
              allowedGroups: new Set(sharedAPIGroups),
            }),
          ]),
    ],
  };
}
