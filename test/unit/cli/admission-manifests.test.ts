import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { manifests } from '../../../src/cli/manifests.ts';
import { arktosAdmission } from '../../../src/tenancy/admission-tenants.ts';
import { ALICE, admissionRequest } from '../../support/admission-reviews.ts';
import { printedIO } from '../../support/printed-io.ts';
import { createAuthority } from '../../support/tls/authority.ts';

async function print(t: Test, mode: string, ...words: readonly string[]) {
  const folder = t.testdir({
    'ca.crt': (await createAuthority()).cert,
    'c.yaml': `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
tenancy: { mode: ${mode} }
admission: { tls: { certFile: no.crt, keyFile: no.key }, systemKinds: [ingresses.networking.k8s.io] }
`,
  });
  const { io, printed } = printedIO();
  const files = ['--config', join(folder, 'c.yaml'), '--ca-file', join(folder, 'ca.crt')];
  const code = await manifests(['admission', ...files, ...words], io);
  return { code, ...printed, documents: parseAllDocuments(printed.stdout).map((one) => one.toJS()) };
}

const URL = ['--url', 'https://stonegate.example.com:8446'];

t.test('shared: a Deployment without a credential, and two webhooks for users of tenants', async (t) => {
  const { code, documents } = await print(t, 'shared');
  t.equal(code, 0);
  t.same(
    documents.map(({ kind }) => kind),
    ['ServiceAccount', 'Service', 'PodDisruptionBudget', 'Deployment', 'ValidatingWebhookConfiguration'],
  );
  const { spec } = documents[3].spec.template;
  t.match(spec.containers[0].args, ['serve', '--only', 'admission']);
  t.equal(spec.automountServiceAccountToken, false);
  const { webhooks } = documents[4];
  for (const webhook of webhooks)
    t.match(webhook, {
      failurePolicy: 'Fail',
      timeoutSeconds: 5,
      sideEffects: 'None',
      clientConfig: { service: { namespace: 'stonegate', path: '/admission' } },
      matchConditions: [{ name: 'users-of-tenants' }],
    });
  t.same(webhooks[1].namespaceSelector.matchExpressions[0].values, ['kube-system', 'stonegate']);
});

t.test('arktos: an address outside the cluster, and no selector', async (t) => {
  const { code, documents } = await print(t, 'arktos', ...URL);
  t.equal(code, 0);
  t.equal(documents.length, 1);
  const [webhook] = documents[0].webhooks;
  t.equal(webhook.clientConfig.url, 'https://stonegate.example.com:8446/admission');
  t.notOk('namespaceSelector' in webhook || 'matchConditions' in webhook);
  t.match(await print(t, 'arktos'), { code: 2, stderr: /--url is required in arktos mode/ });
});

t.test('named kinds only: no leases, events or status of nodes', async (t) => {
  for (const mode of ['arktos', 'shared']) {
    const { documents } = await print(t, mode, ...URL);
    const rules: { apiGroups: string[]; resources: string[] }[] = documents
      .at(-1)
      .webhooks.flatMap(({ rules }: { rules: object[] }) => rules);
    const kinds = rules.flatMap(({ apiGroups, resources }) =>
      resources.map((one) => `${apiGroups[0]}/${one}`),
    );
    t.notMatch(kinds.join(' '), /\*|leases|events|nodes\/status|pods\/status/);
    t.ok(kinds.includes('networking.k8s.io/ingresses'));
  }
});

t.test('wrong usage', async (t) => {
  t.match(await print(t, 'shared', '--url', 'http://stonegate'), { code: 2, stderr: /--url expects/ });
  t.match(await print(t, 'shared', 'more'), { code: 2, stderr: /unexpected argument/ });
  const { io, printed } = printedIO();
  t.equal(await manifests(['admission'], io), 2);
  t.match(printed.stderr, /--config FILE and --ca-file FILE are required/);
});

t.test(
  'arktos: of no registered resource does `tenant: system` in an object exempt a tenant’s user',
  async (t) => {
    const { documents } = await print(t, 'arktos', ...URL);
    const { reviewedTenant } = arktosAdmission('system', { users: [], namespaces: [] });
    const rules: {
      apiGroups: string[];
      resources: string[];
      operations: ('CREATE' | 'UPDATE' | 'DELETE')[];
    }[] = documents[0].webhooks.flatMap(({ rules }: { rules: object[] }) => rules);
    const object = { metadata: { name: 'x', tenant: 'system' } };
    for (const { apiGroups, resources, operations } of rules)
      for (const registered of resources)
        for (const operation of operations) {
          const [resource = '', subresource = ''] = registered.split('/');
          const request = { operation, group: apiGroups[0] ?? '', resource, subresource, object };
          t.match(
            reviewedTenant(admissionRequest({ ...request, user: ALICE })),
            { isTenants: true, byTenant: true, tenant: 'acme' },
            `${operation} ${registered}`,
          );
        }
    t.ok(rules.length > 5);
  },
);
