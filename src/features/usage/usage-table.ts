/**
 * The usage of tenants and projects, bounded: what exceeds the bound is charged to one further project,
 * `other`, so that no request is missing from the sum.
 */
import { addUsage, NONE, noUsage, OTHER, type ProjectUsage, type Usage } from './usage-v1alpha1.ts';

export class UsageTable {
  readonly #maxProjects: number;
  readonly #tenants = new Map<string, Map<string, Usage>>();
  #size = 0;

  /** @param maxProjects without `other` */
  constructor(maxProjects: number) {
    this.#maxProjects = maxProjects;
  }

  /** @returns the usage of the project, for the caller to add to */
  of(tenant: string, project: string): Usage {
    return this.#tenants.get(tenant)?.get(project) ?? this.#add(tenant, project);
  }

  #add(tenant: string, project: string): Usage {
    const isOther = tenant === NONE && project === OTHER;
    if (this.#size >= this.#maxProjects && !isOther) return this.of(NONE, OTHER);
    if (!isOther) this.#size += 1;
    const projects = this.#tenants.get(tenant) ?? new Map<string, Usage>();
    const usage = noUsage();
    this.#tenants.set(tenant, projects.set(project, usage));
    return usage;
  }

  addAll(rows: Iterable<ProjectUsage>): void {
    for (const { tenant, project, usage } of rows) addUsage(this.of(tenant, project), usage);
  }

  /** Sets all amounts to zero. The projects stay, in their order. */
  reset(): void {
    for (const projects of this.#tenants.values())
      for (const project of projects.keys()) projects.set(project, noUsage());
  }

  *rows(): Iterable<ProjectUsage> {
    for (const [tenant, projects] of this.#tenants)
      for (const [project, usage] of projects) yield { tenant, project, usage };
  }
}
