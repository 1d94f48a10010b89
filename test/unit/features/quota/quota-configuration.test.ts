import t from 'tap';
import { quotaSchema } from '../../../../src/features/quota/quota-configuration.ts';

t.test('each further kind is given once, and is one that a quota does not count by itself', async (t) => {
  const isValid = (...count: string[]) => quotaSchema.safeParse({ default: {}, count }).success;
  t.ok(isValid('v1/configmaps', 'apps/v1/deployments'));
  for (const kind of ['v1/pods', 'v1/namespaces', 'v1/events', 'events.k8s.io/v1/events'])
    t.notOk(isValid(kind), kind);
  t.notOk(isValid('apps/v1/deployments', 'apps/v1beta1/deployments'));
});
