/**
 * What users of a tenant see of its quota at a real kube-apiserver, where the definition of the stored
 * TenantQuotas, which they may not read, is in discovery too.
 */
import t from 'tap';
import { parse } from 'yaml';
import { quota as quotaCommand } from '../../src/cli/quota.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startQuotaSite } from '../support/kubernetes/quota-site.ts';
import { bind } from '../support/kubernetes/rbac.ts';
import { printedBy } from '../support/printed-io.ts';

const binaries = findAllKubectls();
const missing = missingControllers() || (binaries.length === 0 && NO_KUBECTL);
const STORED = 'tenantquotas.tenancy.stonegate.dev';

const pod = (name: string, cpu: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'acme-web' },
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] },
});

t.test('users see the quota of their tenant', { skip: missing }, async (t) => {
  const site = await startQuotaSite(t);
  const { kubernetes, stonegate, send } = site;
  await site.namespace('acme-web', 'acme');
  await site.namespace('globex-lab', 'globex');
  await bind(kubernetes, {
    name: 'administrators',
    namespace: 'acme-web',
    role: 'cluster-admin',
    subjects: ['user:acme:alice'],
  });
  await site.limit('acme', { pods: '3', 'requests.cpu': '1' });
  await send('POST', '/api/v1/namespaces/acme-web/pods', pod('first', '250m'));
  await site.uses('acme', { pods: '1', 'requests.cpu': '250m' });
  const address = {
    server: stonegate.url,
    ca: stonegate.authority.cert,
    token: stonegate.keystoneToken('alice'),
  };

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const kubectl = createKubectl(t, binary, address);
      for (const name of ['tenantquota', 'tquota', 'tenantquotas.stonegate.dev', 'tenantquota/acme']) {
        const { stdout, stderr } = await kubectl.run(['get', name]);
        t.match(stdout, /^NAME +USED +AGE\nacme +pods: 1\/3, requests.cpu: 250m\/1 +\S+\n$/, stderr);
      }
      const json = await kubectl.run('get tenantquota acme -o json');
      const { spec, status, kind, apiVersion } = JSON.parse(json.stdout);
      t.strictSame(
        { kind, apiVersion, spec, status },
        parse(`
          kind: TenantQuota
          apiVersion: stonegate.dev/v1alpha1
          spec: {hard: {pods: '3', requests.cpu: '1'}}
          status: {used: {pods: '1', requests.cpu: 250m}}`),
      );
      t.match((await kubectl.run('get tquota -o yaml')).stdout, /requests.cpu: 250m/);
      const described = await kubectl.run('describe tenantquota');
      t.match(described.stdout, /requests.cpu: +250m/, described.stderr);
      t.match((await kubectl.run('explain tenantquota.status')).stdout, /reserved/);
      const other = await kubectl.run('get tenantquota globex');
      t.match(other.stderr, /tenantquotas.stonegate.dev "globex" not found/);
      const watched = await kubectl.run('get tenantquota --watch-only');
      t.match(watched, { code: 1, stderr: /MethodNotAllowed|does not allow this method/ });
    });

  const kubectl = createKubectl(t, binaries.at(-1) ?? '', address);

  await t.test('D223 an administrator of a tenant cannot change its quota', async (t) => {
    const patch = ['--type', 'merge', '--patch', '{"spec":{"hard":{"pods":"999"}}}'];
    for (const words of [
      ['patch', STORED, 'acme', '-n', 'stonegate', ...patch],
      ['delete', STORED, 'acme', '-n', 'stonegate'],
      ['get', STORED, '-n', 'stonegate'],
    ])
      t.match(await kubectl.run(words), { code: 1, stderr: /Forbidden/ }, words.join(' '));
    for (const words of [
      ['patch', 'tenantquota', 'acme', ...patch],
      ['delete', 'tenantquota', 'acme'],
    ])
      t.match(await kubectl.run(words), { code: 1, stderr: /not allow/ }, words.join(' '));
    t.match(await site.quota('acme'), { spec: { hard: { pods: '3' } } });
  });

  await t.test(
    'D221 a larger ResourceQuota of a namespace does not raise the quota of the tenant',
    async (t) => {
      await kubernetes.create('/api/v1/namespaces/acme-web/resourcequotas', {
        metadata: { name: 'large' },
        spec: { hard: { 'requests.cpu': '2' } },
      });
      t.match((await kubectl.run('get tenantquota')).stdout, /requests.cpu: 250m\/1 /);
      const refused = await kubectl.run('create -f -', JSON.stringify(pod('large', '1500m')));
      t.match(refused.stderr, /exceeded quota: acme/);
    },
  );

  await t.test('D222 a refusal names all exceeded resources in order', async (t) => {
    await site.limit('acme', { pods: '1', 'requests.cpu': '1' });
    const refused = await kubectl.run('create -f -', JSON.stringify(pod('large', '1500m')));
    t.match(
      refused.stderr,
      'exceeded quota: acme, requested: pods=1,requests.cpu=1500m, used: pods=1,requests.cpu=250m, limited: pods=1,requests.cpu=1',
    );
  });

  await t.test('stonegate quota prints the quota as a table or as JSON', async (t) => {
    const files = t.testdir({ 'ca.crt': address.ca, token: address.token });
    const words = ['--server', address.server, '--ca-file', `${files}/ca.crt`];
    const run = (...argv: readonly string[]) =>
      printedBy(quotaCommand, [...words, '--token-file', `${files}/token`, ...argv], {});
    t.strictSame(await run(), {
      code: 0,
      stdout: `RESOURCE      USED  HARD
pods          1     1     ██████████ 100 %
requests.cpu  250m  1     ██░░░░░░░░ 25 %
`,
      stderr: '',
    });
    t.match(JSON.parse((await run('-o', 'json')).stdout), {
      kind: 'TenantQuota',
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { name: 'acme' },
      status: { used: { pods: '1' } },
    });
    t.match(await run('x'), { code: 2 });
  });
});
