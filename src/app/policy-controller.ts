/**
 * Provisions what policies say with the provisioning credential, on the replica that holds the lease; and
 * removes what Stonegate made from policies that the configuration does not have any more.
 */
import type { MembershipLog } from '../audit/membership-log.ts';
import { createClusterObjects } from '../clients/cluster-objects.ts';
import { createPolicyStatusWriter } from '../clients/policy-statuses.ts';
import { enabledPolicies } from '../config/enabled-policies.ts';
import { LeaderLoop } from '../lib/leader-loop.ts';
import type { Lease } from '../lib/lease.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import {
  type MembershipChange,
  type PolicyControllerOptions,
  type PolicyRun,
  runPolicyController,
  type WantedPolicies,
} from '../policy/controller.ts';
import { desiredRBAC } from '../policy/desired-rbac.ts';
import { POLICY_FORMS, type PolicyForm } from '../policy/policy.ts';
import type { PolicySnapshot, PolicyUpdates } from '../policy/policy-updates.ts';
import type { PolicyOrigin } from '../policy/resolve.ts';
import type { Build, RuntimeDependencies } from './build.ts';
import { ComponentType } from './component.ts';
import { createControllerLease } from './controller-lease.ts';
import type { ConfiguredPolicies } from './policies.ts';
import { createServedProvisioningUpstream } from './provisioning.ts';

/** Approximate milliseconds between two runs without a change. */
const INTERVAL = 300_000;

const POLICY_CONTROLLER = new ComponentType<PolicyController>('policy controller', {
  start: (controller) => controller.start(),
  stop: (controller) => controller.stop(),
});

export interface PolicyControllerSettings {
  /** Undefined if the configuration has no policies. */
  readonly policies: ConfiguredPolicies | undefined;
  /** Whether roles and bindings stay if the configuration has no such policies any more. */
  readonly keep: boolean;
  readonly memberships: MembershipLog;
}

/** Without a provisioning credential an administrator of each tenant creates roles and bindings. */
export function createPolicyController(
  build: Build,
  { policies, keep, memberships }: PolicyControllerSettings,
): void {
  const { generation, loaded, runtime } = build;
  const { access, tenancy } = loaded.configuration;
  const fetcher = createServedProvisioningUpstream(build);
  if (fetcher === undefined || tenancy.mode !== 'arktos' || (policies === undefined && keep)) return;
  const { systemTenant } = tenancy;
  const enabled = enabledPolicies(loaded.configuration);
  const forms: Readonly<Record<PolicyForm, boolean>> = {
    abac: enabled.abac,
    administration: enabled.administrations || enabled.tenantAdministrations,
    tenant: enabled.crossTenantPolicies,
  };
  const { lease, uses } = createControllerLease(build, 'policies', fetcher);
  generation.component(POLICY_CONTROLLER, {
    fingerprint: [systemTenant, access.grantable, forms, keep],
    uses: [fetcher, ...uses.filter((used) => used !== fetcher), ...(policies ? [policies.component] : [])],
    create: () =>
      new PolicyController({
        runtime,
        lease,
        updates: policies?.updates,
        forms: new Set(POLICY_FORMS.filter((form) => !keep || forms[form])),
        wantedOf: (snapshot) => wantedOf(snapshot, { systemTenant, grantable: access.grantable }),
        objects: createClusterObjects(fetcher),
        statuses: createPolicyStatusWriter(fetcher, systemTenant),
        memberships,
      }),
  });
}

const FORM_OF = { CrossTenantPolicy: 'tenant', TenantAdministration: 'administration' } as const;

type WantedOptions = Omit<Parameters<typeof desiredRBAC>[1], 'tenants'>;

function wantedOf(snapshot: PolicySnapshot, options: WantedOptions): WantedPolicies {
  const { policies, facts, forms, statuses } = snapshot;
  const tenants = new Set(facts.tenants.map(({ name }) => name));
  const objects = [...facts.crossTenantPolicies, ...facts.administrations];
  const byOrigin = new Map(
    objects.map((object) => [
      JSON.stringify([object.kind, tenantOf(object, options), object.metadata.name]),
      object,
    ]),
  );
  return {
    objects: desiredRBAC(policies, { ...options, tenants }),
    forms,
    statuses: statuses.flatMap(({ origin, ...status }) => {
      const object = byOrigin.get(keyOf(origin, options));
      // Without current facts the reason would be wrong: what is not known looks missing.
      return object === undefined || !forms.has(FORM_OF[object.kind]) ? [] : [{ object, status }];
    }),
  };
}

function tenantOf(
  { metadata }: { readonly metadata: { readonly tenant?: string } },
  { systemTenant }: WantedOptions,
) {
  return metadata.tenant ?? systemTenant;
}

function keyOf(origin: PolicyOrigin, { systemTenant }: WantedOptions): string {
  const tenant = origin.kind === 'CrossTenantPolicy' ? origin.tenant : systemTenant;
  return JSON.stringify([origin.kind, tenant, origin.name]);
}

interface ControllerOptions extends Pick<PolicyControllerOptions, 'objects' | 'statuses'> {
  readonly runtime: RuntimeDependencies;
  readonly lease: Lease;
  readonly updates: PolicyUpdates | undefined;
  /** Objects of others are left as they are. */
  readonly forms: ReadonlySet<PolicyForm>;
  readonly wantedOf: (snapshot: PolicySnapshot) => WantedPolicies;
  readonly memberships: MembershipLog;
}

class PolicyController {
  readonly #options: ControllerOptions;
  readonly #loop: LeaderLoop;
  readonly #logger: Logger;
  readonly #telemetry: Telemetry;
  #unsubscribe: (() => void) | undefined;
  #told = '';

  constructor(options: ControllerOptions) {
    const { runtime, lease } = options;
    this.#options = options;
    this.#logger = runtime.logger;
    this.#telemetry = runtime.telemetry;
    this.#loop = new LeaderLoop({
      ...runtime,
      lease,
      interval: INTERVAL,
      run: (signal) => this.#run(signal),
      onLeaseChange: (held) =>
        this.#logger.info(
          {},
          held
            ? 'this process provisions what policies say'
            : 'this process does not provision what policies say: no lease',
        ),
      onFailure: (error) => this.#tell(error),
    });
  }

  start(): void {
    this.#unsubscribe = this.#options.updates?.onChange(() => this.#loop.wake());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#loop.stop();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { runtime, objects, statuses, memberships } = this.#options;
    const wanted = this.#wanted();
    if (wanted.forms.size === 0) return;
    const onMembership = (change: MembershipChange) =>
      memberships.membershipChanged({ ...change, reason: this.#reasonOf(change.administration) });
    let run: PolicyRun;
    try {
      run = await runPolicyController(
        wanted,
        { objects, statuses, onMembership, clock: runtime.clock },
        signal,
      );
    } catch (error) {
      const changes = { create: 0, update: 0, delete: 0 };
      this.#telemetry.policiesProvisioned({ result: signal.aborted ? 'broken-off' : 'error', changes });
      throw error;
    }
    const { changes, failures } = run;
    const result = failures.length > 0 ? 'incomplete' : 'ok';
    this.#telemetry.policiesProvisioned({ result, changes });
    if (changes.create + changes.update + changes.delete > 0)
      this.#logger.info({ changes }, 'roles and bindings were changed as policies say');
    if (failures.length > 0) throw new FailedChanges(failures);
    this.#told = '';
    // Without policies there is nothing more to do.
    if (this.#options.updates === undefined) void this.#loop.stop();
  }

  #wanted(): WantedPolicies {
    const { updates, forms, wantedOf } = this.#options;
    const snapshot = updates?.snapshot;
    if (updates !== undefined && snapshot === undefined)
      return { objects: [], statuses: [], forms: new Set() };
    const wanted = snapshot && wantedOf(snapshot);
    return {
      objects: wanted?.objects ?? [],
      statuses: wanted?.statuses ?? [],
      forms: new Set([...forms].filter((form) => wanted === undefined || wanted.forms.has(form))),
    };
  }

  #reasonOf(administration: string): string | undefined {
    const memberships = this.#options.updates?.snapshot?.memberships ?? [];
    return memberships.find((membership) => membership.administration.name === administration)?.reason;
  }

  /** Once for each failure in a row. */
  #tell(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (text === this.#told) return;
    this.#told = text;
    if (error instanceof FailedChanges)
      this.#logger.warn(
        { count: error.failures.length, failures: error.failures.slice(0, SHOWN) },
        'some roles and bindings of policies could not be changed; it is tried again',
      );
    else this.#logger.error({ error }, 'what policies say could not be provisioned; it is tried again');
  }
}

/** Failures in one line of the log. */
const SHOWN = 20;

class FailedChanges extends Error {
  readonly failures: PolicyRun['failures'];

  constructor(failures: PolicyRun['failures']) {
    super(JSON.stringify(failures));
    this.failures = failures;
  }
}
