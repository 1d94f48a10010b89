/**
 * From what Keystone says now and what the cluster holds now to what has to be done.
 */
import type { BindingsConfiguration } from '../api/config-v1alpha1.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { desiredOf, type TenancyFacts } from './desired.ts';
import { differenceOf } from './difference.ts';
import type { KeystoneDirectory } from './keystone-directory.ts';
import type { Plan } from './plan.ts';
import { readCluster } from './read-cluster.ts';
import { readKeystone } from './read-keystone.ts';

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
  const desired = desiredOf(await readKeystone(directory, rules), rules, facts);
  const { tenants } = facts;
  const wanted = desired.tenants.map(({ tenant }) => tenant);
  const cluster = await readCluster({ objects, tenants, systemTenant, wanted, signal });
  return differenceOf(desired, cluster, { ...rules, tenants });
}
