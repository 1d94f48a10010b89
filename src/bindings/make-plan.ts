/**
 * From what Keystone says now and what the cluster holds now to what has to be done.
 */
import type { BindingsConfiguration } from '../api/config-v1alpha1.ts';
import type { DomainReference } from '../api/keystone-v3.ts';
import { computeDesiredState, type TenancyFacts } from './desired-state.ts';
import { computePlan } from './difference.ts';
import type { Holders } from './grants.ts';
import type { Plan } from './plan.ts';
import type { ClusterObjects, KeystoneDirectory } from './ports.ts';
import { readCluster, readGroups, readKeystone, readPart } from './read-state.ts';

export interface PlanSources {
  readonly directory: KeystoneDirectory;
  readonly objects: ClusterObjects;
  readonly rules: BindingsConfiguration;
  readonly facts: TenancyFacts;
  /** The tenant that nothing is ever made in. */
  readonly systemTenant: string;
  readonly signal: AbortSignal;
}

/** @throws StatusError where either side cannot be read whole: half of an answer makes no plan */
export async function makePlan(sources: PlanSources): Promise<Plan> {
  const { directory, objects, rules, facts, systemTenant, signal } = sources;
  const desired = computeDesiredState(await readKeystone(directory, rules), rules, facts);
  const { tenants } = facts;
  const wanted = desired.tenants.map(({ tenant }) => tenant);
  const cluster = await readCluster({ objects, tenants, systemTenant, wanted, signal });
  return computePlan(desired, cluster, { ...rules, tenants });
}

/*
 * The plan for one project, or one domain, alone: what its people need, and nothing of anybody else's. Made of what the
 * token of one of them says, so that Keystone has to list nothing but roles; a namespace that another project has
 * already is refused as ever, since only what is marked as this very project's is its own.
 
 */

/** What a person's token is good for: a project of a domain, or the domain. Neither is switched off. */
export interface ProvisioningScope {
  readonly domain: DomainReference;
  readonly project?: { readonly id: string; readonly name: string };
}

export interface ProjectPlanSources {
  readonly directory: KeystoneDirectory;
  readonly objects: ClusterObjects;
  readonly rules: BindingsConfiguration;
  readonly facts: TenancyFacts;
  readonly signal: AbortSignal;
}

/** @throws StatusError where either side cannot be read whole */
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
