/** The state of the RBAC index of a running Stonegate, from its metrics. */

import type { App } from '../../src/app/app.ts';
import type { IndexedResource } from '../../src/kubernetes/rbac-v1.ts';

const INDEX = 'informer="rbac-index"';

export async function indexMetrics({ metrics }: Pick<App, 'metrics'>) {
  const text = await metrics.text();
  const value = (name: string, ...labels: readonly string[]) => {
    const line = text
      .split('\n')
      .find((each) => each.startsWith(`stonegate_${name}`) && labels.every((label) => each.includes(label)));
    return Number(line?.split(' ').at(-1) ?? Number.NaN);
  };
  const of = (resource: string) => `resource="${resource}"`;
  return {
    synced: value('rbac_index_synced') === 1,
    revision: value('rbac_index_revision'),
    objects: (resource: IndexedResource) => value('rbac_index_objects', of(resource)),
    lists: (resource: IndexedResource, reason: string) =>
      value('informer_lists_total', INDEX, of(resource), `reason="${reason}"`) || 0,
    failures: (resource: IndexedResource, failure: string) =>
      value('informer_failures_total', INDEX, of(resource), `failure="${failure}"`) || 0,
  };
}
