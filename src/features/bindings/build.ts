/**
 * Provisioning from Keystone's directory into the API server, with the provisioning credential and the
 * names of the tenancy mode: for `stonegate sync`, periodically, or on a user's request.
 */

import { ComponentType, type Handle, RUNS } from '../../config/component.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { KeystoneDirectory } from '../../identity/keystone/keystone-directory.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import { createObjects, type Objects } from '../../kubernetes/objects.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import type { Controller, Reconciler } from '../../kubernetes/reconcile/controller.ts';
import type { Plan } from '../../kubernetes/reconcile/plan.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { type Account, STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createTenancyMode } from '../../tenancy/create-tenancy-mode.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { DomainReference, UserReference } from '../../tenancy/keystone-v3.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { FeatureBuild, Keystone } from '../build.ts';
import { createLeasedController } from '../leased-controller.ts';
import type { TenancySettings } from '../tenancy-settings.ts';
import type { BindingsConfiguration } from './bindings-configuration.ts';
import type { ProvisioningTenancy } from './desired-state.ts';
import type { BindingsParts } from './feature.ts';
import { RequestProvisioning } from './on-request.ts';
import { makeProjectPlan, makeProvisioningPlan, type ProvisioningScope } from './plan.ts';
import type { ReadProjectLimits } from './project-quota.ts';

export { createNamespaceOf, createProjectNamespace } from './namespace-name.ts';
export { createProjectSynchronizer } from './project-sync.ts';

/** Provisions the whole cluster. */
export interface ClusterProvisioning extends Reconciler {
  /** Plans for one project or domain alone. */
  planFor(scope: ProvisioningScope, signal: AbortSignal): Promise<Plan>;
  readonly objects: Objects;
}

export interface ProvisioningOptions {
  readonly directory: KeystoneDirectory;
  /** Sends requests with the provisioning credential. */
  readonly fetcher: UpstreamFetcher;
  readonly mode: TenancyMode;
  /** Undefined: projects get no ResourceQuota. */
  readonly readLimits?: ReadProjectLimits | undefined;
  readonly account: Account;
}

/** What provisioning reads of the configuration. */
export type ProvisioningPart = {
  readonly bindings: BindingsConfiguration;
  readonly tenancy: TenancySettings;
  readonly hasQuotas: boolean;
};

export function createProvisioning(
  { bindings: rules, tenancy, hasQuotas }: ProvisioningPart,
  { directory, fetcher, mode, readLimits, account }: ProvisioningOptions,
): ClusterProvisioning {
  const objects = createObjects(fetcher, account);
  const { systemTenant } = tenancy;
  const provisioned = provisioningTenancy(mode, hasQuotas);
  const sources = { directory, objects, rules, tenancy: provisioned, readLimits };
  return {
    plan: (signal) => makeProvisioningPlan({ ...sources, signal }, systemTenant),
    planFor: (scope, signal) => makeProjectPlan(scope, { ...sources, signal }),
    apply: (plan, signal) => applyPlan(plan, { objects, maxDeletedShare: rules.maxDeletedShare, signal }),
    objects,
  };
}

/**
 * Periodic provisioning is stopped at the swap, and the next one starts when it has ended: two never run at
 * once.
 */
const PERIODIC = new ComponentType<Controller>('periodic provisioning', RUNS);

const ON_REQUEST = new ComponentType<RequestProvisioning>('provisioning on request', {
  dispose: (provisioning) => provisioning.close(),
});

/**
 * The bindings of one user are a large share of the few bindings of one project, so the configured share
 * would hold back changes that are right. Only the removal of all bindings is held back: a user who sends
 * requests has at least one.
 */
const WHOLE_PROJECT = 1;

/** A component that knows what each project may use. */
export interface ProjectQuotas {
  readonly ofProjects: ReadProjectLimits;
}

/**
 * Provisioning as the configuration asks for it: none, periodically, or on a user's request.
 *
 * @param quotas undefined: projects get no ResourceQuota
 * @returns what the stage `provision` calls; undefined unless the configuration asks for provisioning on
 *   request
 */
export function createServedProvisioning(
  build: FeatureBuild<BindingsParts>,
  quotas: Handle<ProjectQuotas> | undefined,
): RequestProvisioning | undefined {
  const { parts } = build;
  if (parts.periodic !== undefined) createPeriodic(build, parts.periodic, quotas);
  return parts.onRequest && createOnRequest(build, parts.onRequest, quotas);
}

function createOnRequest(
  { scope, runtime, keystone, provisioningUpstream }: FeatureBuild<BindingsParts>,
  part: ProvisioningPart,
  quotas: Handle<ProjectQuotas> | undefined,
): RequestProvisioning {
  const uses = [keystone, provisioningUpstream, quotas] as const;
  return scope.component(ON_REQUEST, part, uses, (part, [keystone, upstream, quotas]) => {
    const { directory, fetcher } = provisioningBackends(keystone, upstream);
    const { bindings, tenancy } = part;
    const mode = createTenancyMode(tenancy);
    return new RequestProvisioning({
      ...runtime,
      reconcilerFor(scope) {
        const account = accountOf(mode, scope.domain);
        const readLimits = quotas?.ofProjects;
        const { planFor, objects } = createProvisioning(part, {
          ...{ directory, fetcher, mode, readLimits, account },
        });
        return {
          plan: (signal) => planFor(scope, signal),
          apply: (plan, signal) => applyPlan(plan, { objects, maxDeletedShare: WHOLE_PROJECT, signal }),
        };
      },
      subjects: bindings.subjects,
      interval: bindings.interval,
    });
  });
}

function createPeriodic(
  { scope, runtime, keystone, provisioningUpstream }: FeatureBuild<BindingsParts>,
  part: ProvisioningPart & { readonly leases: Place },
  quotas: Handle<ProjectQuotas> | undefined,
): void {
  const uses = [keystone, provisioningUpstream, quotas] as const;
  scope.component(PERIODIC, part, uses, (part, [keystone, upstream, quotas]) => {
    const { directory, fetcher } = provisioningBackends(keystone, upstream);
    const reconciler = createProvisioning(part, {
      ...{ directory, fetcher, account: STONEGATE_ACCOUNT, readLimits: quotas?.ofProjects },
      mode: createTenancyMode(part.tenancy),
    });
    const { leases, bindings } = part;
    const { interval } = bindings;
    return createLeasedController(runtime, leases, reconciler.objects, {
      name: 'bindings',
      reconciler,
      interval,
    });
  });
}

function provisioningBackends(keystone: Keystone | undefined, fetcher: UpstreamFetcher | undefined) {
  const directory = keystone?.client.directory;
  // Loading refuses a configuration without these.
  if (directory === undefined) throw new Error('no Keystone to provision for');
  if (fetcher === undefined) throw new Error('no credential to provision with');
  return { directory, fetcher };
}

/** What is provisioned on a user's request counts against the tenant of the user's domain. */
export function accountOf(mode: TenancyMode, domain: DomainReference): Account {
  return { kind: 'tenant', tenant: tenantIn(mode, domain) };
}

/**
 * A domain's tenant and a user's name are exactly those that a token of the user would get.
 *
 * @param hasQuotas whether tenants have quotas
 */
export function provisioningTenancy(mode: TenancyMode, hasQuotas: boolean): ProvisioningTenancy {
  const { hasTenantsInPaths, labelsNamespaces } = mode.facts;
  return {
    hasTenantsInPaths,
    labelsNamespaces: hasQuotas && labelsNamespaces,
    tenantOf: (domain) =>
      orRefusal(() => {
        const tenant = tenantIn(mode, domain);
        return mode.isSystem(tenant)
          ? { refused: "its tenant is the system's, whose bindings apply in every other" }
          : { tenant };
      }),
    userNameOf: (user, domain) =>
      orRefusal(() => {
        const identity = identityIn(domain, user);
        return { name: mode.userOf(identity, mode.tenantOf(identity)).username };
      }),
  };
}

function tenantIn(mode: TenancyMode, domain: DomainReference) {
  return mode.tenantOf(identityIn(domain, { id: '', name: '-', domain }));
}

function identityIn(scopeDomain: DomainReference, user: UserReference): Identity {
  return {
    authenticator: 'keystone',
    subject: { kind: 'keystone', userName: user.name, userDomain: user.domain, scopeDomain },
    tenantOrigin: { from: 'domain', domain: scopeDomain },
    uid: user.id,
    groups: [],
    extra: {},
    expiresAt: Number.POSITIVE_INFINITY,
    auditAnnotations: {},
  };
}

function orRefusal<T>(find: () => T): T | { readonly refused: string } {
  try {
    return find();
  } catch (error) {
    if (error instanceof StatusError) return { refused: error.message };
    throw error;
  }
}
