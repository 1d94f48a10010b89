/** What the demo's tenants hold besides what every testbed has, so that there is something to look at. */
import type { PodLog } from '../test/support/apiserver/pods.ts';
import type { Seed } from '../test/support/apiserver/seed.ts';

/** The same names in both tenants where possible; a namespace that only one of them has. */
const TENANTS = {
  acme: { namespace: 'shop', greeting: 'hello from acme', replicas: 2 },
  globex: { namespace: 'laboratory', greeting: 'hello from globex', replicas: 3 },
} as const;

/** @returns the log of a second pod in each tenant */
export function seedDemo(seed: Seed): PodLog[] {
  return Object.entries(TENANTS).map(([tenant, { namespace, greeting, replicas }]) => {
    seed.namespace(namespace, { tenant });
    seed.configMap('greeting', { text: greeting }, { tenant });
    seed.configMap('prices', { bread: '3.20' }, { tenant, namespace });
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'nginx' }] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    seed.object('apps/v1/deployments', 'web', { spec }, { tenant });
    return seed.pod('worker', { tenant });
  });
}

/**
 * Lets pods talk, so that `kubectl logs -f` has something to follow.
 *
 * @returns stops them
 */
export function keepTalking(logs: readonly PodLog[]): () => void {
  let served = 0;
  const timer = setInterval(() => {
    served += 1;
    for (const log of logs) log.append(`${new Date().toISOString()} served request ${served}`);
  }, 2_000);
  return () => clearInterval(timer);
}
