/** The RBAC index of a running Stonegate, as its metrics show it. */

import type { IndexedResource } from '../../src/api/rbac-v1.ts';
import type { App } from '../../src/app/app.ts';

export interface IndexMetrics {
  readonly synced: boolean;
  readonly revision: number;
  objects(resource: IndexedResource): number;
  /** In seconds. */
  age(resource: IndexedResource): number;
  lists(resource: IndexedResource, reason: string): number;
  failures(resource: IndexedResource, failure: string): number;
}

export async function indexMetrics({ metrics }: Pick<App, 'metrics'>): Promise<IndexMetrics> {
  const text = await metrics.text();
  const value = (name: string, ...labels: readonly string[]): number => {
    const line = text
      .split('\n')
      .find(
        (each) =>
          each.startsWith(`stonegate_rbac_index_${name}`) && labels.every((label) => each.includes(label)),
      );
    return Number(line?.split(' ').at(-1) ?? Number.NaN);
  };
  const of = (resource: string) => `resource="${resource}"`;
  return {
    synced: value('synced') === 1,
    revision: value('revision'),
    objects: (resource) => value('objects', of(resource)),
    age: (resource) => value('age_seconds', of(resource)),
    lists: (resource, reason) => value('lists_total', of(resource), `reason="${reason}"`) || 0,
    failures: (resource, failure) => value('failures_total', of(resource), `failure="${failure}"`) || 0,
  };
}
