/**
 * Reads Keystone and the cluster and computes a plan: for the whole cluster, or for one project or domain on
 * a user's request. The partial plan reads only that project's objects, so it can remove nothing of any
 * other.
 */
import type { BindingsConfiguration } from '../../config/configuration.ts';
import type { KeystoneDirectory } from '../../identity/keystone/directory.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { Plan } from '../../kubernetes/reconcile/plan.ts';
import type { DomainReference } from '../../tenancy/keystone-v3.ts';
import { computeDesiredState, type TenancyFacts } from './desired-state.ts';
import { computePlan } from './difference.ts';
import type { Holders } from './grants.ts';
import { readCluster, readGroups, readKeystone, readPart } from './read-state.ts';

export interface PlanSources {
  readonly directory: KeystoneDirectory;
  readonly objects: Objects;
  readonly rules: BindingsConfiguration;
  readonly facts: TenancyFacts;
  /** The tenant in which nothing is ever created. */
  readonly systemTenant: string;
  readonly signal: AbortSignal;
}

/** @throws StatusError if either side cannot be read completely */
export async function makeProvisioningPlan(sources: PlanSources): Promise<Plan> {
  const { directory, objects, rules, facts, systemTenant, signal } = sources;
  const desired = computeDesiredState(await readKeystone(directory, rules), rules, facts);
  const { tenants } = facts;
  const wanted = desired.tenants.map(({ tenant }) => tenant);
  const cluster = await readCluster({ objects, tenants, systemTenant, wanted, signal });
  return computePlan(desired, cluster, { ...rules, tenants });
}

/** The scope of a user's token: a project of a domain, or the domain. Neither is disabled. */
export interface ProvisioningScope {
  readonly domain: DomainReference;
  readonly project?: { readonly id: string; readonly name: string };
}

export interface ProjectPlanSources {
  readonly directory: KeystoneDirectory;
  readonly objects: Objects;
  readonly rules: BindingsConfiguration;
  readonly facts: TenancyFacts;
  readonly signal: AbortSignal;
}

/** @throws StatusError if either side cannot be read completely */
export async function makeProjectPlan(claim: ProvisioningScope, sources: ProjectPlanSources): Promise<Plan> {
  const { rules, facts, objects, signal } = sources;
  const { createRoles } = rules;
  const domain = { ...claim.domain, enabled: true };
  const project = claim.project && { ...claim.project, domainID: domain.id, enabled: true };
  const holders = await readHolders(claim, sources);
  const state = { domains: [domain], projects: project === undefined ? [] : [project], holders };
  const desired = computeDesiredState(state, rules, facts);
  const { tenants } = facts;
  const part = await readPart(desired, {
    domain,
    ...(project && { project }),
    tenants,
    createRoles,
    objects,
    signal,
  });
  return computePlan(desired, part, { ...rules, tenants });
}

async function readHolders(
  claim: ProvisioningScope,
  { directory, rules }: ProjectPlanSources,
): Promise<Holders> {
  if (rules.subjects === 'groups') return readGroups(directory);
  const { project, domain } = claim;
  const [onProject, onDomain, disabledUserIDs] = await Promise.all([
    project === undefined ? [] : directory.roleAssignmentsOn({ kind: 'project', id: project.id }),
    directory.roleAssignmentsOn({ kind: 'domain', id: domain.id }),
    directory.disabledUserIDs(),
  ]);
  return { kind: 'users', assignments: [...onProject, ...onDomain], disabledUserIDs };
}
