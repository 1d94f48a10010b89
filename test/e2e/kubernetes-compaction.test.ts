/** Lists of all namespaces in pages, and the RBAC index, after etcd has really compacted its history. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { indexMetrics } from '../support/index-metrics.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const CONFIG_MAPS = '/api/v1/configmaps';
const SELECTED = 'fieldSelector=metadata.name!%3Dkube-root-ca.crt';
const PLACES = ['place-a', 'place-b'] as const;

interface List {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly unknown[];
}

t.test(
  'D026: a page whose revision is compacted gets a 410, a new list succeeds, and the index follows',
  { skip: missingKubernetes() },
  async (t) => {
    const { kubernetes, stonegate, letWork } = await startKubernetesSite(t, {
      configuration: { access: { index: true, authorizers: ['Node', 'RBAC'] } },
    });
    for (const place of PLACES) {
      await letWork(place, 'acme:alice');
      for (const name of ['x0', 'x1'])
        await kubernetes.create(`/api/v1/namespaces/${place}/configmaps`, { metadata: { name } });
    }
    const token = stonegate.keystoneToken('alice');
    const ask = (query: string) => stonegate.ask(token, `${CONFIG_MAPS}?${SELECTED}${query}`);
    await eventually(async () => {
      const list: List = JSON.parse((await ask('')).body);
      return list.items.length === 4;
    });
    const first: List = JSON.parse((await ask('&limit=1')).body);
    const { continue: more = '' } = first.metadata;
    t.not(more, '');
    await kubernetes.create('/api/v1/namespaces/place-a/configmaps', { metadata: { name: 'x2' } });
    await kubernetes.restartAfter((storage) => storage.compact());
    await eventually(async () => (await ask('')).status === 200);
    const next = await ask(`&limit=1&continue=${encodeURIComponent(more)}`);
    t.equal(next.status, 410, next.body);
    t.match(JSON.parse(next.body), { kind: 'Status', reason: 'Expired' });
    const list: List = JSON.parse((await ask('')).body);
    t.equal(list.items.length, 5);
    await letWork('place-c', 'acme:alice');
    await kubernetes.create('/api/v1/namespaces/place-c/configmaps', { metadata: { name: 'x0' } });
    await eventually(async () => {
      const later: List = JSON.parse((await ask('')).body);
      return later.items.length === 6;
    });
    t.ok((await indexMetrics(stonegate.app)).synced, 'the index follows the API server');
  },
);
