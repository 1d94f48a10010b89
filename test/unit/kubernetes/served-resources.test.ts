import t from 'tap';
import { servedResources } from '../../../src/kubernetes/served-resources.ts';

const POLICIES = 'crosstenantpolicies';

function served(status: number, body: string) {
  const fetcher = { fetch: async () => ({ status, headers: [], body: Buffer.from(body) }) };
  return servedResources(fetcher, '/apis/tenancy.stonegate.dev/v1alpha1', new AbortController().signal);
}

t.test('a version of a group that the API server does not have has no resources', async (t) => {
  const list = JSON.stringify({ resources: [{ name: POLICIES }, { name: `${POLICIES}/status` }] });
  t.same([...(await served(200, list))], [POLICIES, `${POLICIES}/status`]);
  t.same([...(await served(404, '404 page not found'))], []);
});

t.test('a response that is not a list is no answer', async (t) => {
  for (const [status, body] of [
    [500, ''],
    [200, '{'],
    [200, '{"resources":{}}'],
  ] as const)
    await t.rejects(served(status, body), { code: 'UpstreamUnavailable' }, body);
});
