/**
 * Provisions what policies say with the provisioning credential, on the replica that holds the lease; and
 * removes what Stonegate made from policies that the configuration does not have any more.
 */

import { ComponentType, type Handle, RUNS } from '../../config/component.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import type { Controller } from '../../kubernetes/reconcile/controller.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { POLICY_FORMS } from '../../proxy/tenant-entry.ts';
import type { FeatureBuild } from '../build.ts';
import { createLeasedController } from '../leased-controller.ts';
import { desiredRBAC } from './desired-rbac.ts';
import type { CrossTenantParts } from './feature.ts';
import type { MembershipLog } from './membership-log.ts';
import { createPolicyReconciler, type WantedPolicies } from './policy-reconciler.ts';
import type { PolicySnapshot, PolicyUpdates } from './policy-updates.ts';

/** Approximate milliseconds between two runs without a change. */
const INTERVAL = 300_000;

const POLICY_CONTROLLER = new ComponentType<Controller>('policy controller', RUNS);

export interface PolicyControllerSettings {
  /** Undefined if the configuration has no policies. */
  readonly updates: Handle<PolicyUpdates> | undefined;
  /** Whether roles and bindings stay if the configuration has no such policies any more. */
  readonly keep: boolean;
  readonly memberships: MembershipLog;
}

/** Without a provisioning credential an administrator of each tenant creates roles and bindings. */
export function createPolicyController(
  { parts, scope, runtime, provisioningUpstream }: FeatureBuild<CrossTenantParts>,
  { updates, keep, memberships }: PolicyControllerSettings,
): void {
  if (provisioningUpstream === undefined || parts.controller === undefined || (updates === undefined && keep))
    return;
  scope.component(
    POLICY_CONTROLLER,
    parts.controller,
    [provisioningUpstream, updates],
    (part, [upstream]) => {
      const { systemTenant, grantable, forms, leases } = part;
      const managed = POLICY_FORMS.filter((form) => !keep || forms[form]);
      const objects = createObjects(upstream, STONEGATE_ACCOUNT);
      const reconciler = createPolicyReconciler({
        objects,
        systemTenant,
        clock: runtime.clock,
        wanted() {
          const wanted = wantedNow(updates, { systemTenant, grantable });
          return { ...wanted, forms: new Set(managed.filter((form) => wanted.forms.has(form))) };
        },
        onMembership: memberships,
      });
      return createLeasedController(runtime, leases, objects, {
        name: 'policies',
        reconciler,
        interval: INTERVAL,
        ...(updates ? { subscribe: (wake) => updates.onChange(wake) } : { once: true }),
      });
    },
  );
}

/** Without policies in the configuration there are to be no objects of any form. */
function wantedNow(updates: PolicyUpdates | undefined, options: WantedOptions): WantedPolicies {
  if (updates === undefined) return { objects: [], statuses: [], forms: new Set(POLICY_FORMS) };
  const { snapshot } = updates;
  return snapshot === undefined
    ? { objects: [], statuses: [], forms: new Set() }
    : wantedOf(snapshot, options);
}

const FORM_OF = { CrossTenantPolicy: 'tenant', TenantAdministration: 'administration' } as const;

type WantedOptions = Omit<Parameters<typeof desiredRBAC>[1], 'tenants'>;

function wantedOf(snapshot: PolicySnapshot, options: WantedOptions): WantedPolicies {
  const { policies, facts, forms, statuses } = snapshot;
  const tenants = new Set(facts.tenants.map(({ name }) => name));
  return {
    objects: desiredRBAC(policies, { ...options, tenants }),
    forms,
    statuses: statuses.flatMap(({ object, ...status }) =>
      // Without current facts the reason would be wrong: what is not known looks missing.
      object === undefined || !forms.has(FORM_OF[object.kind]) ? [] : [{ object, status }],
    ),
  };
}
