/**
 * What provisioning is made of: Keystone's directory, the API server with the provisioning credential, and what the
 * tenancy mode says of domains and people.
 */

import type { Identity } from '../api/identity.ts';
import type { DomainReference } from '../api/keystone-v3.ts';
import { type Account, STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { type ApplyOptions, type ApplyResult, applyPlan } from '../bindings/apply.ts';
import type { TenancyFacts } from '../bindings/desired-state.ts';
import { makePlan, makeProjectPlan, type ProvisioningScope } from '../bindings/make-plan.ts';
import type { Plan } from '../bindings/plan.ts';
import type { KeystoneDirectory } from '../bindings/ports.ts';
import type { Provisioning } from '../bindings/run.ts';
import { createClusterObjects } from '../clients/cluster-objects.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { StatusError } from '../errors/status-error.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { createUpstream, type Upstream } from '../upstream/upstream.ts';
import { fingerprintOf, type Surroundings, upstreamOptions } from './made-of.ts';

/** `maxDeletedShare` in place of the configured one. */
type Applying = Pick<ApplyOptions, 'force' | 'onProgress' | 'signal'> &
  Partial<Pick<ApplyOptions, 'maxDeletedShare'>>;

/** Of the whole cluster. */
export interface ClusterProvisioning extends Provisioning {
  /** For one project or domain alone. */
  planFor(claim: ProvisioningScope, signal: AbortSignal): Promise<Plan>;
  apply(plan: Plan, options: Applying): Promise<ApplyResult>;
}

export interface ProvisioningParts {
  readonly directory: KeystoneDirectory;
  /** With the provisioning credential. */
  readonly fetcher: UpstreamFetcher;
  readonly mode: TenancyMode;
  /** Without it, Stonegate's own. */
  readonly account?: Account;
}

export function createProvisioning(
  { configuration }: LoadedConfiguration,
  { directory, fetcher, mode, account = STONEGATE_ACCOUNT }: ProvisioningParts,
): ClusterProvisioning {
  const { bindings: rules, tenancy } = configuration;
  const objects = createClusterObjects(fetcher, account);
  const facts = tenancyFacts(mode);
  const { systemTenant } = tenancy;
  return {
    plan: (signal) => makePlan({ directory, objects, rules, facts, systemTenant, signal }),
    planFor: (claim, signal) => makeProjectPlan(claim, { directory, objects, rules, facts, signal }),
    apply: (plan, options) =>
      applyPlan(plan, { objects, maxDeletedShare: rules.maxDeletedShare, ...options }),
  };
}

/** @returns undefined where the configuration names no credential for it */
export function provisioningUpstream(
  loaded: LoadedConfiguration,
  around: Surroundings,
): Upstream | undefined {
  const options = provisioningUpstreamOptions(loaded);
  return options && createUpstream({ ...around, ...options });
}

function provisioningUpstreamOptions(loaded: LoadedConfiguration) {
  const { credential } = loaded.configuration.bindings;
  return credential && upstreamOptions(loaded, credential, false);
}

/** What is made because a user of a domain has come is made on the account of that domain's tenant. */
export function accountOf(mode: TenancyMode, domain: DomainReference): Account {
  return { kind: 'tenant', tenant: mode.tenantOf(personIn(domain, { id: '', name: '-', domain })) };
}

/** Equal where `provisioningUpstream` would be built of the same. */
export function provisioningMadeOf(loaded: LoadedConfiguration): string {
  return fingerprintOf(loaded.configuration.upstream, provisioningUpstreamOptions(loaded) ?? {});
}

/** A domain's tenant and a person's name are exactly those that a token of theirs would be given. */
export function tenancyFacts(mode: TenancyMode): TenancyFacts {
  return {
    tenants: mode.readsTenantFromPath,
    tenantOf: (domain) =>
      unlessRefused(() => {
        const tenant = mode.tenantOf(personIn(domain, { id: '', name: '-', domain }));
        return mode.isSystem(tenant)
          ? { refused: "its tenant is the system's, whose bindings count in every other" }
          : { tenant };
      }),
    userNameOf: (user, domain) =>
      unlessRefused(() => {
        const identity = personIn(domain, user);
        return { name: mode.userOf(identity, mode.tenantOf(identity)).username };
      }),
  };
}

function personIn(
  scopeDomain: DomainReference,
  user: { readonly id: string; readonly name: string; readonly domain: DomainReference },
): Identity {
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

function unlessRefused<T>(find: () => T): T | { readonly refused: string } {
  try {
    return find();
  } catch (error) {
    if (error instanceof StatusError) return { refused: error.message };
    throw error;
  }
}
