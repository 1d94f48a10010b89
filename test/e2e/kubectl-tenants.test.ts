/**
 * `kubectl get tenants` as users of Arktos' tenants run it, with this machine's oldest and newest kubectl.
 */
import t from 'tap';
import { type Kubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import { fails, startForKubectl, succeeds } from '../support/kubectl-users.ts';
import { rule } from '../support/policy-rule.ts';

const CONFIGURATION = { access: { index: true }, tenancy: { mode: 'arktos', domains: { ops: 'system' } } };
const binaries = kubectlsOrSkip(t, 'kubectl and tenants');
if (binaries.length > 0)
  t.test('kubectl and tenants', async (t) => {
    const users = await startForKubectl(t, { configuration: CONFIGURATION });
    const { stonegate } = users;
    const { keystone, apiServer } = stonegate;
    const [stored] = apiServer.cluster.store.list({ resource: 'tenants', name: 'acme' });
    const { uid, creationTimestamp } = Object(stored?.object.metadata);
    const root = keystone.issue(keystone.directory.user('ops', 'root'));
    apiServer.seed.clusterRole('everything', [rule('*', '*', '*')]);
    apiServer.seed.clusterRoleBinding('operators', 'everything', ['user:system:stonegate:root']);

    for (const binary of binaries)
      await t.test(`${binary.split('/').at(-1)}`, async (t) => {
        const alice = users.as(binary, stonegate.keystoneToken('alice'));
        const nina = users.as(binary, users.newcomer('nina'));

        await t.test('a user sees their own tenant, whatever their rights', async (t) => {
          for (const kubectl of [alice, nina])
            for (const words of [['tenants'], ['te'], ['tenant', 'acme'], ['tenants', '-A']])
              t.match(
                await succeeds(t, kubectl, ['get', ...words]),
                /^NAME {3}STATUS {3}AGE\nacme {3}Active {3}\S+\n$/,
                words.join(' '),
              );
          t.equal(await succeeds(t, alice, 'get tenants -o name'), 'tenant/acme\n');
          const yaml = await succeeds(t, nina, 'get tenant acme -o yaml');
          t.equal(
            yaml,
            [
              'apiVersion: v1',
              'kind: Tenant',
              'metadata:',
              `  creationTimestamp: "${creationTimestamp}"`,
              '  name: acme',
              `  uid: ${uid}`,
              'spec: {}',
              'status:',
              '  phase: Active',
              '',
            ].join('\n'),
          );
          const list = await succeeds(t, nina, 'get tenants -o yaml');
          t.match(list, `\n    uid: ${uid}\n`);
          t.notMatch(list, /globex|storageCluster|hashKey|resourceVersion: "\d/);
        });

        await t.test('a user learns nothing about other tenants, not even whether they exist', async (t) => {
          const refusal = async (name: string) =>
            (await fails(t, alice, ['get', 'tenant', name])).replaceAll(name, 'NAME');
          t.equal(await refusal('globex'), await refusal('missing'));
          t.match(
            await refusal('globex'),
            'Error from server (Forbidden): tenants "NAME" is forbidden: User "acme:alice" cannot get resource "tenants" in API group "" in the tenant "system"\n',
          );
        });

        await t.test('watches and changes are refused as usual', async (t) => {
          // The wording of a refused watch differs between releases of kubectl.
          t.match(await fails(t, alice, ['get', 'tenants', '--watch-only']), /Forbidden/);
          t.match(await fails(t, alice, ['delete', 'tenant', 'acme']), /cannot delete resource "tenants"/);
          const patch = ['patch', 'tenant', 'acme', '--type', 'merge', '-p', '{"spec":{"x":"1"}}'];
          t.match(await fails(t, alice, patch), /cannot patch resource "tenants"/);
        });

        await t.test('discovery lists tenants, but still nothing else of the cluster', async (t) => {
          const printed = await succeeds(t, nina, 'api-resources -o wide --namespaced=false');
          t.match(printed, /^tenants +te +v1 +false +Tenant +(?:\[get list\]|get,list) *$/m);
          t.notMatch(printed, /^nodes|^priorityclasses/m);
        });

        await t.test('a user of the system tenant gets the API server’s own response', async (t) => {
          const operator: Kubectl = users.as(binary, root);
          t.match(
            await succeeds(t, operator, 'get tenants'),
            /^NAME +STORAGECLUSTER +STATUS +AGE\nacme .*\nglobex .*\n/,
          );
        });
      });

    await t.test('the response header and the audit log say that the list is filtered', async (t) => {
      const own = await stonegate.ask(stonegate.keystoneToken('bob'), '/api/v1/tenants');
      t.equal(own.headers['stonegate-filtered'], 'rbac');
      t.match(own.json(), { items: [{ metadata: { name: 'globex' } }] });
      const other = await stonegate.ask(stonegate.keystoneToken('bob'), '/api/v1/tenants/acme');
      t.equal(other.headers['stonegate-filtered'], undefined);
      t.equal((await stonegate.ask(root, '/api/v1/tenants')).headers['stonegate-filtered'], undefined);
      const events = (await stonegate.audited()).filter(
        ({ user, stage }) => user?.username === 'globex:bob' && stage === 'ResponseComplete',
      );
      t.match(events.at(0)?.annotations, { 'stonegate.dev/filtered': 'rbac' });
      t.notOk(events.at(-1)?.annotations?.['stonegate.dev/filtered']);
    });

    await t.test('if Stonegate lacks its right, a user whose tenant is not cached gets a 503', async (t) => {
      const dora = keystone.issue(keystone.directory.user('initech', 'dora'));
      apiServer.seed.tenant('initech');
      for (let time = 0; time < 2; time += 1)
        apiServer.breakNext('no-rights', ({ url = '' }) => url.includes('/tenants/initech'));
      const refused = await stonegate.ask(dora, '/api/v1/tenants');
      t.equal(refused.status, 503);
      t.match(refused.json(), { reason: 'ServiceUnavailable' });
      t.equal((await stonegate.ask(dora, '/api/v1/tenants')).status, 200);
    });
  });
