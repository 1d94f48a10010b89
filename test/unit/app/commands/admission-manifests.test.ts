import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { manifests } from '../../../../src/app/commands/manifests.ts';
import { isReviewPath } from '../../../../src/features/admission/registered-writes.ts';
import { readRegistration } from '../../../../src/features/cross-tenant/read-policy-object.ts';
import { printedIO } from '../../../support/printed-io.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const ADMIN = 'admin: { bind: "0.0.0.0:9191" }\n';

/** @param sections further sections of the configuration */
async function printWith(t: Test, mode: string, sections: string, ...words: readonly string[]) {
  const folder = t.testdir({
    'ca.crt': (await createAuthority()).cert,
    'c.yaml': `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
tenancy: { mode: ${mode} }
admission: { tls: { certFile: no.crt, keyFile: no.key }, systemKinds: [ingresses.networking.k8s.io] }
${sections}`,
  });
  const { io, printed } = printedIO();
  const files = ['--config', join(folder, 'c.yaml'), '--ca-file', join(folder, 'ca.crt')];
  const code = await manifests(['admission', ...files, ...words], io);
  return { code, ...printed, documents: parseAllDocuments(printed.stdout).map((one) => one.toJS()) };
}

const print = (t: Test, mode: string, ...words: readonly string[]) => printWith(t, mode, ADMIN, ...words);

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

t.test('arktos: an address outside the cluster, and a URL for each kind and operation', async (t) => {
  const { code, documents } = await printWith(t, 'arktos', PUBLISHING, ...URL);
  t.equal(code, 0);
  t.equal(documents.length, 4);
  const webhooks: (Registered & { readonly clientConfig: { readonly url: string } })[] = documents.flatMap(
    (document) => document.webhooks,
  );
  const urls = webhooks.map(({ clientConfig }) => clientConfig.url);
  const [address] = URL.slice(-1);
  for (const path of ['core/pods/binding/create', 'rbac.authorization.k8s.io/roles/delete'])
    t.ok(urls.includes(`${address}/admission/${path}`), path);
  t.equal(new Set(urls).size, urls.length, 'each webhook has its own URL');
  for (const { rules, clientConfig } of webhooks) {
    t.ok(isReviewPath(clientConfig.url.slice(address?.length)), clientConfig.url);
    t.match(
      rules.map(({ resources, operations }) => [resources.length, operations.length]),
      [[1, 1]],
      clientConfig.url,
    );
  }
  t.equal(new Set(webhooks.map(({ name }) => name)).size, webhooks.length, 'names are unique');
  for (const webhook of webhooks) t.notOk('namespaceSelector' in webhook || 'matchConditions' in webhook);
  t.same(
    webhooks
      .filter((webhook) => webhook.objectSelector === undefined && /\/delete$/.test(webhook.clientConfig.url))
      .map(({ name }) => name),
    ['delete.nodes.admission.stonegate.dev', 'delete.tenants.admission.stonegate.dev'],
    'for other kinds, only deletions of objects that Stonegate manages',
  );
  t.match(await print(t, 'arktos'), { code: 2, stderr: /--url is required in arktos mode/ });
});

const PUBLISHING = `publishing: { namespaces: [shared], kinds: [batch/v1/cronjobs] }
`;

t.test(
  'arktos: cross-tenant policies have a registration of their own, always and without a selector',
  async (t) => {
    for (const sections of ['', PUBLISHING]) {
      const { documents } = await printWith(t, 'arktos', sections, ...URL);
      const { webhooks, metadata } = documents.at(-1);
      t.equal(metadata.name, 'stonegate-policies');
      t.same(
        webhooks.map(({ name }: Registered) => name),
        ['create', 'update', 'update-status'].map(
          (action) => `${action}.crosstenantpolicies.tenancy.stonegate.dev.admission.stonegate.dev`,
        ),
        'nothing else, since the age of the registration says which policies were reviewed',
      );
      for (const webhook of webhooks) {
        t.equal(webhook.failurePolicy, 'Fail');
        for (const selector of ['namespaceSelector', 'objectSelector', 'matchConditions'])
          t.notOk(selector in webhook, selector);
      }
      const stored = {
        ...documents.at(-1),
        metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
      };
      t.match(readRegistration(stored), { registered: true }, 'the proxy recognizes the registration');
    }
    const { documents } = await print(t, 'shared');
    t.notMatch(JSON.stringify(documents), /crosstenantpolicies/, 'an ordinary cluster has none');
  },
);

interface Registered {
  readonly name: string;
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly operations: readonly string[];
  }[];
  readonly objectSelector?: object;
  readonly matchConditions?: readonly { readonly name: string }[];
}

/** Whether this document registers everything except cross-tenant policies. */
function isAdmission({ kind, metadata }: { readonly kind: string; readonly metadata: { name: string } }) {
  return kind === 'ValidatingWebhookConfiguration' && metadata.name.startsWith('stonegate-admission');
}

/** What the webhooks are registered for: `OPERATION group/resource`. */
function registeredFor(webhooks: readonly Registered[]): string[] {
  return webhooks
    .flatMap(({ rules }) => rules)
    .flatMap(({ apiGroups, resources, operations }) =>
      resources.flatMap((resource) => operations.map((one) => `${one} ${apiGroups[0]}/${resource}`)),
    );
}

const COPIES = { matchExpressions: [{ key: 'stonegate.dev/managed-by', operator: 'Exists' }] };

for (const mode of ['arktos', 'shared'])
  t.test(
    `${mode}: publishing registers changes of the published kinds, and deletions of copies`,
    async (t) => {
      const words = mode === 'arktos' ? URL : [];
      const { documents } = await printWith(t, mode, ADMIN + PUBLISHING, ...words);
      const webhooks: Registered[] = documents.filter(isAdmission).flatMap((one) => one.webhooks);
      const registered = registeredFor(webhooks);
      for (const write of ['CREATE /secrets', 'UPDATE batch/cronjobs', 'UPDATE batch/cronjobs/status'])
        t.ok(registered.includes(write), write);
      const [deletions] = webhooks.filter((one) => registeredFor([one]).includes('DELETE /secrets'));
      t.same(deletions?.objectSelector, COPIES);
      t.notMatch(registered.join(), /\*|leases|events|nodes\/status|pods\/status/, 'named kinds only');
      t.ok(registered.includes('CREATE networking.k8s.io/ingresses'));
      const publish = webhooks.find(({ name }) => name.startsWith('publish.'));
      if (mode === 'shared')
        t.match(publish?.matchConditions, [{ name: 'changes-what-is-published' }], 'from every user');
    },
  );

for (const mode of ['arktos', 'shared'])
  t.test(`${mode}: only quotas with Stonegate's label are sent to the webhook`, async (t) => {
    const words = mode === 'arktos' ? URL : [];
    const { documents } = await printWith(t, mode, ADMIN, ...words);
    const webhooks: Registered[] = documents.filter(isAdmission).flatMap((one) => one.webhooks);
    for (const write of ['CREATE /resourcequotas', 'UPDATE /resourcequotas/status', 'DELETE /resourcequotas'])
      t.match(
        webhooks.filter((one) => registeredFor([one]).includes(write)),
        [{ objectSelector: COPIES }],
        write,
      );
  });

t.test('a Deployment whose probes could not reach the admin listener is refused', async (t) => {
  t.match(await printWith(t, 'shared', ''), { code: 1, stdout: '', stderr: /admin\.bind.*0\.0\.0\.0:9090/ });
});

t.test('a usage error is refused', async (t) => {
  t.match(await print(t, 'shared', '--url', 'http://stonegate'), { code: 2, stderr: /--url expects/ });
});
