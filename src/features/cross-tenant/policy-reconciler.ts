/**
 * Creates the roles and bindings in tenants that the policies in force ask for, and reports to the authors of
 * policies by the conditions of their objects.
 */

import { reasonOf, StatusError } from '../../errors/status-error.ts';
import {
  KINDS,
  objectKey,
  placeOf,
  type ResourceKind,
  type StoredObject,
  type WrittenObject,
} from '../../kubernetes/kubernetes-object.ts';
import { hasManagedLabel, MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { type ApplyResult, applyPlan, type Failure } from '../../kubernetes/reconcile/apply.ts';
import type { Reconciler } from '../../kubernetes/reconcile/controller.ts';
import { compareOwned } from '../../kubernetes/reconcile/drift.ts';
import { type Desired, type Existing, makePlan, type Plan } from '../../kubernetes/reconcile/plan.ts';
import type { Clock } from '../../lib/clock.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { PolicyForm } from '../../proxy/tenant-entry.ts';
import { conditionsWith } from '../status-conditions.ts';
import { type DesiredPolicyObject, POLICY_LABELS, REASON } from './desired-rbac.ts';
import type { MembershipLog } from './membership-log.ts';
import type { PolicyStatus } from './resolve.ts';
import {
  CROSS_TENANT_POLICIES,
  type CrossTenantPolicy,
  TENANT_ADMINISTRATIONS,
  type TenantAdministration,
} from './tenancy-v1alpha1.ts';

/** What a run is to bring about. */
export interface WantedPolicies {
  readonly objects: readonly DesiredPolicyObject[];
  /** The forms of policies that are known; objects of others are left as they are. */
  readonly forms: ReadonlySet<PolicyForm>;
  readonly statuses: readonly {
    readonly object: CrossTenantPolicy | TenantAdministration;
    readonly status: Pick<PolicyStatus, 'ready' | 'reason' | 'message'>;
  }[];
}

export interface PolicyReconcilerOptions {
  readonly objects: Objects;
  readonly systemTenant: string;
  readonly wanted: () => WantedPolicies;
  /** Called after the binding was created or deleted. */
  readonly onMembership: MembershipLog;
  readonly clock: Clock;
}

interface PolicyPlan extends Plan, Pick<WantedPolicies, 'statuses'> {}

/** Writes of statuses in flight. */
const CONCURRENCY = 4;
/** Selects the objects that Stonegate made from policies. */
const SELECTOR = `${MANAGED_BY}=${STONEGATE},${POLICY_LABELS.form}`;
const MADE = ['ClusterRole', 'ClusterRoleBinding', 'RoleBinding'] as const;

export function createPolicyReconciler(options: PolicyReconcilerOptions): Reconciler<PolicyPlan> {
  const { objects, onMembership } = options;
  return {
    async plan(signal) {
      const { objects: desired, forms, statuses } = options.wanted();
      const known: ReadonlySet<string> = forms;
      const isKnown = ({ metadata }: WrittenObject) => known.has(metadata.labels?.[POLICY_LABELS.form] ?? '');
      const lists = await Promise.all(
        MADE.map((kind) =>
          objects.list(KINDS[kind], { tenant: 'all' }, SELECTOR, signal, (object) =>
            isOwned(object) && isKnown(object) ? [existingObject(KINDS[kind], object)] : [],
          ),
        ),
      );
      const plan = await makePlan({
        desired: desired.filter(({ object }) => isKnown(object)).map(desiredObject),
        existing: lists.flat(2),
      });
      return { ...plan, statuses };
    },
    async apply(plan, signal) {
      const applied = await applyPlan(plan, { objects, signal });
      reportMemberships(applied, onMembership);
      return { ...applied, failures: [...applied.failures, ...(await writeStatuses(plan, options, signal))] };
    },
  };
}

function desiredObject({ tenant, object }: DesiredPolicyObject): Desired {
  return {
    kind: KINDS[object.kind],
    place: { ...placeOf(object.metadata), tenant },
    object,
    reason: `policy ${object.metadata.labels?.[POLICY_LABELS.policy] ?? ''}`,
    compare: (existing) => compareOwned(object, existing, isOwned),
    requires: 'roleRef' in object ? [objectKey(KINDS.ClusterRole, { tenant }, object.roleRef.name)] : [],
  };
}

function existingObject(kind: ResourceKind, object: StoredObject): Existing {
  return {
    kind,
    place: placeOf(object.metadata),
    object,
    deletion: { reason: 'no policy asks for it any more', isOwned },
  };
}

const ROLE_NAME = /^stonegate:policy:/;
const BINDING_NAME = /^stonegate-policy-[0-9a-f]{40}$/;

/** An object without Stonegate's labels and name is not Stonegate's. */
function isOwned({ kind, metadata }: WrittenObject): boolean {
  const form = kind === 'ClusterRole' ? ROLE_NAME : BINDING_NAME;
  return hasManagedLabel(metadata) && form.test(metadata.name);
}

function reportMemberships({ done }: ApplyResult, onMembership: MembershipLog): void {
  for (const { action, kind, place, object } of done) {
    const { labels = {}, annotations = {} } = object.metadata;
    const { [POLICY_LABELS.form]: form, [POLICY_LABELS.policy]: administration } = labels;
    if (action === 'update' || kind !== KINDS.ClusterRoleBinding || form !== 'administration') continue;
    if (administration === undefined || place.tenant === undefined) continue;
    onMembership({
      verb: action === 'create' ? 'grant' : 'revoke',
      administration,
      tenant: place.tenant,
      reason: annotations[REASON],
    });
  }
}

const STATUS_KINDS = {
  CrossTenantPolicy: CROSS_TENANT_POLICIES,
  TenantAdministration: TENANT_ADMINISTRATIONS,
} as const;

async function writeStatuses(
  { statuses }: PolicyPlan,
  { objects, systemTenant, clock }: PolicyReconcilerOptions,
  signal: AbortSignal,
): Promise<readonly Failure[]> {
  const failures = await mapWithConcurrency(statuses, CONCURRENCY, async ({ object, status }) => {
    const conditions = conditionsWith(object, status, clock.now());
    if (conditions === undefined || signal.aborted) return [];
    const kind = STATUS_KINDS[object.kind];
    const place = { tenant: object.metadata.tenant ?? systemTenant };
    const change: Failure['change'] = { action: 'update', kind, place, object, reason: 'its conditions' };
    try {
      const outcome = await objects.updateStatus(kind, place, object, { conditions }, signal);
      return outcome === 'conflict' ? [{ change, reason: 'another client has changed it meanwhile' }] : [];
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return [{ change, reason: reasonOf(error) }];
    }
  });
  return failures.flat();
}
