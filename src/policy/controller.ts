/**
 * Makes the roles and bindings in tenants what the policies in force say, and tells the authors of policies
 * by the conditions of their objects. What fails or has changed meanwhile is left to the next run, which
 * reads everything again.
 */
import type { CrossTenantPolicy, TenantAdministration } from '../api/tenancy-v1alpha1.ts';
import { reasonOf, StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { mapWithConcurrency } from '../lib/concurrency.ts';
import { type DesiredPolicyObject, POLICY_LABELS } from './desired-rbac.ts';
import type { PolicyForm } from './policy.ts';
import type { PolicyObject, PolicyObjects, PolicyPlace, PolicyStatusWriter } from './ports.ts';
import { POLICY_SELECTOR, type PolicyChange, policyChanges } from './rbac-changes.ts';
import type { PolicyStatus } from './resolve.ts';
import { conditionsWith } from './status-conditions.ts';

/** Writes in flight. */
const CONCURRENCY = 8;
const KINDS = ['ClusterRole', 'ClusterRoleBinding', 'RoleBinding'] as const;

/** What a run is to bring about. */
export interface WantedPolicies {
  readonly objects: readonly DesiredPolicyObject[];
  /** Of which the policies are known; objects of others are left as they are. */
  readonly forms: ReadonlySet<PolicyForm>;
  readonly statuses: readonly {
    readonly object: CrossTenantPolicy | TenantAdministration;
    readonly status: Pick<PolicyStatus, 'ready' | 'reason' | 'message'>;
  }[];
}

/** A tenant has joined an administration, or left it. */
export interface MembershipChange {
  readonly verb: 'grant' | 'revoke';
  readonly administration: string;
  readonly tenant: string;
}

export interface PolicyRunFailure {
  /** `create ClusterRole stonegate:policy:abac:x in acme`. */
  readonly change: string;
  readonly reason: string;
}

export interface PolicyRun {
  /** How many objects were written; conditions are not counted. */
  readonly changes: Readonly<Record<PolicyChange['action'], number>>;
  readonly failures: readonly PolicyRunFailure[];
}

export interface PolicyControllerOptions {
  readonly objects: PolicyObjects;
  readonly statuses: PolicyStatusWriter;
  /** Called after the binding was written or deleted. */
  readonly onMembership: (change: MembershipChange) => void;
  readonly clock: Clock;
}

/** What Stonegate has made from policies, in all tenants. @throws StatusError */
async function existingPolicyObjects(
  objects: PolicyObjects,
  signal: AbortSignal,
): Promise<readonly PolicyObject[]> {
  const lists = await Promise.all(
    KINDS.map((kind) => objects.list(kind, { tenant: 'all' }, POLICY_SELECTOR, signal)),
  );
  return lists.flat();
}

/**
 * @param signal aborted: no further change is begun
 * @throws StatusError if what exists cannot be read; the signal's reason
 */
export async function runPolicyController(
  { objects, statuses, forms }: WantedPolicies,
  options: PolicyControllerOptions,
  signal: AbortSignal,
): Promise<PolicyRun> {
  const run = new Run(options, signal);
  const existing = await existingPolicyObjects(options.objects, signal);
  signal.throwIfAborted();
  for (const step of policyChanges(objects, existing, forms))
    await mapWithConcurrency(step, CONCURRENCY, (change) => run.make(change));
  await mapWithConcurrency(statuses, CONCURRENCY, ({ object, status }) => run.tell(object, status));
  return run;
}

class Run implements PolicyRun {
  readonly changes = { create: 0, update: 0, delete: 0 };
  readonly failures: PolicyRunFailure[] = [];
  readonly #options: PolicyControllerOptions;
  readonly #signal: AbortSignal;

  constructor(options: PolicyControllerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async make(change: PolicyChange): Promise<void> {
    const { action, tenant, object } = change;
    const { kind, metadata } = object;
    await this.#attempt(`${action} ${kind} ${metadata.name} in ${tenant}`, async () => {
      const problem = await this.#write(change);
      if (problem !== undefined) return problem;
      this.changes[action] += 1;
      this.#tellOfMembership(change);
      return undefined;
    });
  }

  async tell(
    object: CrossTenantPolicy | TenantAdministration,
    status: WantedPolicies['statuses'][number]['status'],
  ): Promise<void> {
    const { statuses, clock } = this.#options;
    const conditions = conditionsWith(object, status, clock.now());
    if (conditions === undefined) return;
    await this.#attempt(`status of ${object.kind} ${object.metadata.name}`, async () => {
      const outcome = await statuses.write(object, conditions, this.#signal);
      return outcome === 'conflict' ? CHANGED : undefined;
    });
  }

  /** @returns why it was not made */
  async #write({ action, tenant, object }: PolicyChange): Promise<string | undefined> {
    const { objects } = this.#options;
    const { namespace } = object.metadata;
    const place: PolicyPlace = { tenant, ...(namespace !== undefined && { namespace }) };
    switch (action) {
      case 'create':
        return (await objects.create(object, place, this.#signal)) === 'exists' ? TAKEN : undefined;
      case 'update':
        return (await objects.update(object, place, this.#signal)) === 'updated' ? undefined : CHANGED;
      case 'delete':
        return (await objects.delete(object, place, this.#signal)) === 'conflict' ? CHANGED : undefined;
    }
  }

  /** @param work returns why it had no effect */
  async #attempt(change: string, work: () => Promise<string | undefined>): Promise<void> {
    this.#signal.throwIfAborted();
    let reason: string | undefined;
    try {
      reason = await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof StatusError)) throw error;
      reason = reasonOf(error);
    }
    if (reason !== undefined) this.failures.push({ change, reason });
  }

  #tellOfMembership({ action, tenant, object, isReplacement }: PolicyChange): void {
    const { [POLICY_LABELS.form]: form, [POLICY_LABELS.policy]: administration } =
      object.metadata.labels ?? {};
    if (isReplacement || action === 'update' || object.kind !== 'ClusterRoleBinding') return;
    if (form !== 'administration' || administration === undefined) return;
    this.#options.onMembership({ verb: action === 'create' ? 'grant' : 'revoke', administration, tenant });
  }
}

const TAKEN = 'another object has its name, which Stonegate did not make from a policy';
const CHANGED = 'another client has changed it meanwhile';
