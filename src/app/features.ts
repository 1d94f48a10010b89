/**
 * The features, as data: whatever would be a list of features iterates over this one. A new feature is one
 * folder, a line here, and a line where `build-features.ts` builds it.
 */
import { accessRules } from '../features/access-rules/feature.ts';
import { admission } from '../features/admission/feature.ts';
import { allNamespaces } from '../features/all-namespaces/feature.ts';
import { bindings } from '../features/bindings/feature.ts';
import { clientSetup } from '../features/client-setup/feature.ts';
import { crossTenant } from '../features/cross-tenant/feature.ts';
import { discovery } from '../features/discovery/feature.ts';
import { explain } from '../features/explain/feature.ts';
import { hideForbidden } from '../features/hide-forbidden/feature.ts';
import { invitations } from '../features/invitations/feature.ts';
import { keystoneLimits } from '../features/keystone-limits/feature.ts';
import { members } from '../features/members/feature.ts';
import { namespaces } from '../features/namespaces/feature.ts';
import { ownAPI } from '../features/own-api/feature.ts';
import { ownTenant } from '../features/own-tenant/feature.ts';
import { portal } from '../features/portal/feature.ts';
import { publishing } from '../features/publishing/feature.ts';
import { quota } from '../features/quota/feature.ts';
import { rates } from '../features/rates/feature.ts';
import { rbacIndex } from '../features/rbac-index/feature.ts';
import { selfReviews } from '../features/self-reviews/feature.ts';
import { teams } from '../features/teams/feature.ts';
import { tenantBoundary } from '../features/tenant-boundary/feature.ts';
import { tenants } from '../features/tenants/feature.ts';
import { tokens } from '../features/tokens/feature.ts';
import { traces } from '../features/traces/feature.ts';
import { usage } from '../features/usage/feature.ts';
import { webhook } from '../features/webhook/feature.ts';
import { whoCan } from '../features/who-can/feature.ts';

/** Manifests and references list what the features give in this order. */
export const FEATURES = {
  tenants,
  discovery,
  rbacIndex,
  explain,
  accessRules,
  whoCan,
  ownTenant,
  bindings,
  crossTenant,
  publishing,
  quota,
  keystoneLimits,
  tokens,
  members,
  teams,
  invitations,
  rates,
  tenantBoundary,
  namespaces,
  allNamespaces,
  selfReviews,
  hideForbidden,
  ownAPI,
  clientSetup,
  portal,
  webhook,
  admission,
  usage,
  traces,
};
