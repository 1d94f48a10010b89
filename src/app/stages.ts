/**
 * The stages of a configuration, as `pipeline/stages.ts` wants them: the ordered authorizers and admission
 * plugins, and what the other stages ask.
 */
import { createBodySizeAdmission, methodAdmission } from '../admission/admission.ts';
import { watchListAdmission } from '../admission/watch-list.ts';
import { createAnonymousAccess } from '../authentication/anonymous.ts';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { createConnectCreate } from '../authorization/connect-create.ts';
import { createOwnAPIRights } from '../authorization/own-api-rights.ts';
import { createSharedResources } from '../authorization/shared-resources.ts';
import { createTenantBoundary } from '../authorization/tenant-boundary.ts';
import { createUpgradePlaces } from '../authorization/upgrade-places.ts';
import type { RequestProvisioning } from '../bindings/on-request.ts';
import type { RoleLookup } from '../bindings/role-lookup.ts';
import { createTenantRateLimit } from '../flowcontrol/rate-limits.ts';
import type { DiscoveryDocuments } from '../pipeline/discovery/discovery-documents.ts';
import { LastModes } from '../pipeline/impersonation/impersonation-modes.ts';
import type { ReasonOf } from '../pipeline/rbac/rbac-reasons.ts';
import { parseTrustedProxies } from '../pipeline/request/client-address.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { Policies } from '../policy/ports.ts';
import { createOwnAPI } from '../tenancy/own-api.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Build } from './build.ts';
import { createOwnRights } from './upstream.ts';

export interface StagesOptions {
  readonly mode: TenancyMode;
  readonly authenticators: readonly Authenticator[];
  readonly roles: RoleLookup | undefined;
  readonly provisioning: RequestProvisioning | undefined;
  readonly reviewer: AccessReviewer;
  readonly discovered: DiscoveryDocuments;
  readonly reasonOf: ReasonOf | undefined;
  readonly policies: Policies | undefined;
}

export function createStages(build: Build, options: StagesOptions): Stages {
  const { clock, random } = build.runtime;
  const { server, upstream, authentication, access, limits } = build.loaded.configuration;
  const { mode, authenticators, roles, provisioning, reviewer, policies } = options;
  const tenantLimit = limits.perTenant && createTenantRateLimit({ ...limits.perTenant, clock });
  return {
    clock,
    random,
    trustedProxies: parseTrustedProxies(server.trustedProxies),
    authenticators,
    anonymousAccess: createAnonymousAccess(authentication.anonymous),
    mode,
    ownAPI: createOwnAPI({ index: access.index }),
    ...(roles && { roles }),
    ...(provisioning && { provisioning }),
    ...(policies && { policies }),
    impersonation: {
      reviewer,
      extraKeys: new Set(authentication.impersonationExtraKeys),
      lastModes: new LastModes(),
      reasonOf: options.reasonOf,
    },
    upstreamRights: createOwnRights(build),
    authorizers: authorizers(build, options),
    admission: admission(mode, server.limits.bodyBytes),
    limitTenant: (tenant) => tenantLimit?.admit(tenant),
    maxHeaderBytes: upstream.headerBytes,
  };
}

function authorizers(
  { loaded }: Build,
  { mode, reviewer, discovered, reasonOf }: StagesOptions,
): Stages['authorizers'] {
  return [
    createUpgradePlaces(mode),
    createTenantBoundary({ isSystem: mode.isSystem }),
    createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant, reasonOf }),
    createSharedResources({
      discovered,
      mayBeShared: mode.mayBeShared,
      allowedGroups: new Set(loaded.configuration.tenancy.sharedAPIGroups),
    }),
    createOwnAPIRights({ ...mode, reviewer, reasonOf }),
  ];
}

function admission(mode: TenancyMode, bodyBytes: number): Stages['admission'] {
  return [
    methodAdmission,
    createBodySizeAdmission(bodyBytes),
    ...(mode.watchLists === 'refused' ? [watchListAdmission] : []),
  ];
}
