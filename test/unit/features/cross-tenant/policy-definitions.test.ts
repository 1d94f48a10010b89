import t from 'tap';
import { missingDefinitions } from '../../../../src/features/cross-tenant/policy-definitions.ts';
import type { UpstreamFetcher } from '../../../../src/kubernetes/upstream-ports.ts';

const POLICIES = 'crosstenantpolicies';
const ADMINISTRATIONS = 'tenantadministrations';

function ask(status: number, body: string, resources = [POLICIES, ADMINISTRATIONS]): Promise<string[]> {
  const fetcher: UpstreamFetcher = {
    fetch: async () => ({ status, headers: [], body: Buffer.from(body) }),
  };
  return missingDefinitions(fetcher, resources, new AbortController().signal);
}

const list = (...names: string[]) => JSON.stringify({ resources: names.map((name) => ({ name })) });

t.test('a kind is missing if the API server does not serve it', async (t) => {
  t.same(await ask(200, list(POLICIES, `${POLICIES}/status`, ADMINISTRATIONS)), []);
  t.same(await ask(200, list(POLICIES)), [ADMINISTRATIONS]);
  t.same(await ask(404, '404 page not found'), [POLICIES, ADMINISTRATIONS]);
});

t.test('without kinds nothing is asked', async (t) => {
  t.same(await ask(500, '', []), []);
});

t.test('a response that is no list says nothing', async (t) => {
  for (const [status, body] of [
    [500, ''],
    [403, list()],
    [200, '{'],
    [200, '[]'],
    [200, '{"resources":{}}'],
  ] as const)
    await t.rejects(ask(status, body), { code: 'UpstreamUnavailable' }, body);
});
