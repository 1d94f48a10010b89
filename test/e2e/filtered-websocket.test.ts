/**
 * Watches over WebSocket that Stonegate must filter: the upgrade is a 503 with a Status, after which clients
 * such as fabric8 send the same watch as a plain GET.
 */
import { text } from 'node:stream/consumers';
import t from 'tap';
import WebSocket from 'ws';
import { eventually } from '../support/eventually.ts';
import { rule } from '../support/policy-rule.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const SEE = [rule('get', 'namespaces'), rule('get,list,watch', 'configmaps')];

for (const mode of ['shared', 'arktos'] satisfies Mode[])
  t.test(`${mode}: a filtered watch is refused over WebSocket, and served by plain GET`, async (t) => {
    const stonegate = await startStonegate(t, {
      mode,
      configuration: { access: { index: true, authorizers: ['Node', 'RBAC'] } },
    });
    const { ask, keystone, authority } = stonegate;
    const { seed } = stonegate.apiServer;
    const place = mode === 'arktos' ? { tenant: 'acme' } : {};
    seed.clusterRole('seers', SEE, place);
    for (const namespace of ['one', 'two']) seed.namespace(namespace, place);
    seed.roleBinding('nina', 'seers', ['user:acme:nina'], { ...place, namespace: 'one' });
    const nina = keystone.issue(keystone.directory.user('acme', 'nina'));
    await eventually(async () => (await ask(nina, '/api/v1/configmaps')).status === 200);

    const upgrade = async (path: string) => {
      const socket = new WebSocket(`${stonegate.url.replace('https', 'wss')}${path}`, {
        headers: { authorization: `Bearer ${nina}` },
        ca: authority.cert,
      });
      const { promise, resolve, reject } = Promise.withResolvers<{ status?: number; body: string }>();
      socket.on('unexpected-response', async (_request, response) => {
        const { statusCode } = response;
        resolve({ ...(statusCode !== undefined && { status: statusCode }), body: await text(response) });
      });
      socket.on('open', () => reject(new Error(`upgraded: ${path}`)));
      socket.on('error', reject);
      return promise;
    };
    const own = mode === 'arktos' ? ['/api/v1/namespaces/one/configmaps'] : [];
    for (const path of ['/api/v1/namespaces', '/api/v1/configmaps', ...own]) {
      const { status, body } = await upgrade(`${path}?watch=true`);
      t.equal(status, 503, path);
      t.match(JSON.parse(body), {
        kind: 'Status',
        code: 503,
        message: /plain GET/,
        details: { causes: [{ reason: 'StonegateCode', message: 'UpgradeUnavailable' }] },
      });
      t.equal((await ask(nina, `${path}?watch=true&timeoutSeconds=1`)).status, 200, path);
    }
  });
