import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { PUBLISHED } from '../../../../src/kubernetes/published-objects.ts';
import { kindOf, type Mode, publish, publishingSite, TENANTS } from '../../../support/memory-published.ts';
import { rule } from '../../../support/policy-rule.ts';

const DATA = { type: 'Opaque', data: { password: 'c2VjcmV0' } };
const POLICY = 'multi-tenancy.k8s.io/published-policy';
const NAMESPACE = kindOf('namespaces');
const IN_ACME = { tenant: 'acme', namespace: 'shared' };

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  t.test(`${mode}: a tenant that is being deleted is left alone`, async (t) => {
    const site = publishingSite({ mode });
    site.publish('secrets', 'registry', DATA);
    const [kind, name] = mode === 'arktos' ? [TENANTS, 'acme'] : [NAMESPACE, 'acme'];
    const { metadata } = site.objects.find(kind, {}, name) ?? {};
    site.objects.put(kind, {}, { metadata, status: { phase: 'Terminating' } });
    await publish(site);
    t.equal(site.copy('secrets', 'registry', 'acme'), undefined);
    t.ok(site.copy('secrets', 'registry', 'globex'));
  });

  t.test(`${mode}: if the sources of a kind cannot be read, none of their copies is deleted`, async (t) => {
    const site = publishingSite({ mode });
    site.publish('secrets', 'registry', DATA);
    await publish(site);
    site.objects.drop(kindOf('secrets'), site.home, 'registry');
    site.publish('configmaps', 'settings', { data: { a: 'b' } });
    site.objects.before = (verb, { resource }, { namespace }) => {
      if (verb === 'list' && resource === 'secrets' && namespace === 'shared')
        throw new StatusError('ProvisioningForbidden', 'not allowed');
    };
    const { unread } = (await publish(site)).plan;
    t.match(unread, [{ subject: 'secrets in shared', reason: /not allowed/ }]);
    t.ok(site.copy('secrets', 'registry', 'acme'));
    t.ok(site.copy('configmaps', 'settings', 'acme'), 'other kinds are published');
  });

  t.test(`${mode}: if the namespace of the sources is gone, its copies stay`, async (t) => {
    const site = publishingSite({ mode });
    site.publish('secrets', 'registry', DATA);
    await publish(site);
    const { namespace, ...system } = site.home;
    site.objects.drop(NAMESPACE, system, namespace ?? '');
    site.objects.drop(kindOf('secrets'), site.home, 'registry');
    const { unread } = (await publish(site)).plan;
    t.match(unread[0]?.reason, /is not there/);
    t.ok(site.copy('secrets', 'registry', 'acme'));
  });

  t.test(
    `${mode}: if there are too many sources of a kind, its copies stay, and other kinds are published`,
    async (t) => {
      const site = publishingSite({ mode });
      site.publish('configmaps', 'first', { data: {} });
      await publish(site);
      for (let number = 0; number < 200; number += 1)
        site.publish('configmaps', `more-${number}`, { data: {} });
      site.publish('secrets', 'registry', DATA);
      await publish(site);
      t.ok(site.copy('configmaps', 'first', 'acme'));
      t.notOk(site.copy('configmaps', 'more-1', 'acme'));
      t.ok(site.copy('secrets', 'registry', 'acme'));
    },
  );
}

t.test(
  'D238 a copy that cannot be written into one tenant is an error there, and stops no other tenant',
  async (t) => {
    const site = publishingSite();
    site.publish('secrets', 'registry', DATA);
    site.objects.before = (verb, _kind, { tenant }) => {
      if (verb === 'create' && tenant === 'acme') throw new StatusError('ProvisioningRefused', 'quota');
    };
    const { applied } = await publish(site);
    t.match(applied.failures.map(({ reason }) => reason)[0], /quota/);
    t.ok(site.copy('secrets', 'registry', 'globex'));
  },
);

t.test('if the tenants cannot be read, nothing is changed', async (t) => {
  const site = publishingSite();
  site.publish('secrets', 'registry', DATA);
  await publish(site);
  site.objects.drop(kindOf('secrets'), site.home, 'registry');
  site.objects.before = (verb, { resource }) => {
    if (verb === 'list' && resource === 'tenants') throw new StatusError('ProvisioningForbidden', 'no');
  };
  await t.rejects(publish(site), /no/);
  t.ok(site.copy('secrets', 'registry', 'acme'));
});

t.test('SystemFirst never overwrites an object that Stonegate itself manages', async (t) => {
  const site = publishingSite();
  site.publish('configmaps', 'settings', { data: {} }, 'all', { annotations: { [POLICY]: 'SystemFirst' } });
  site.objects.put(NAMESPACE, { tenant: 'acme' }, { metadata: { name: 'shared' } });
  const metadata = { name: 'settings', labels: { 'stonegate.dev/managed-by': 'stonegate' } };
  site.objects.put(kindOf('configmaps'), IN_ACME, { metadata, data: { own: 'x' } });
  const { plan } = await publish(site);
  t.match(plan.refusals, [{ reason: /belongs to Stonegate/ }]);
  t.match(site.copy('configmaps', 'settings', 'acme'), { data: { own: 'x' } });
});

t.test('an object that another client creates during the run is not overwritten', async (t) => {
  const site = publishingSite();
  site.publish('configmaps', 'settings', { data: { a: 'b' } });
  site.objects.before = (verb, { resource }, { tenant }) => {
    if (verb === 'create' && resource === 'configmaps' && tenant === 'acme')
      site.objects.put(kindOf('configmaps'), IN_ACME, { metadata: { name: 'settings' }, data: { own: 'x' } });
  };
  const { applied } = await publish(site);
  t.match(applied.failures, [{ reason: /not overwritten/ }]);
  t.match(site.copy('configmaps', 'settings', 'acme'), { data: { own: 'x' } });
});

t.test('the tokens that a controller adds to a published ServiceAccount stay', async (t) => {
  const site = publishingSite();
  const secrets = [{ name: 'robot-token' }];
  site.publish('serviceaccounts', 'robot', { secrets, imagePullSecrets: [] }, 'acme');
  await publish(site);
  const copy = site.copy('serviceaccounts', 'robot', 'acme');
  t.equal(copy?.secrets, undefined, 'tokens of the source are not copied');
  site.objects.put(kindOf('serviceaccounts'), IN_ACME, { ...copy, secrets: [{ name: 'of-acme' }] });
  t.same((await publish(site)).plan.changes, []);
  site.publish('serviceaccounts', 'robot', { imagePullSecrets: [{ name: 'registry' }] }, 'acme');
  await publish(site);
  t.match(site.copy('serviceaccounts', 'robot', 'acme'), {
    secrets: [{ name: 'of-acme' }],
    imagePullSecrets: [{ name: 'registry' }],
  });
});

t.test('shared: if two namespaces publish the same name, the first one configured counts', async (t) => {
  const site = publishingSite({ mode: 'shared', configuration: { namespaces: ['shared', 'later'] } });
  const annotations = { [PUBLISHED]: 'all' };
  site.objects.put(NAMESPACE, {}, { metadata: { name: 'later' } });
  const later = { ...DATA, data: {}, metadata: { name: 'registry', annotations } };
  site.objects.put(kindOf('secrets'), { namespace: 'later' }, later);
  site.publish('secrets', 'registry', DATA);
  const { plan } = await publish(site);
  t.match(plan.refusals, [{ subject: 'secrets/later/registry', reason: /shared\/registry comes first/ }, {}]);
  t.match(site.copy('secrets', 'registry', 'acme'), DATA);
  site.objects.before = (verb, _kind, { namespace }) => {
    if (verb === 'list' && namespace === 'shared') throw new StatusError('UpstreamUnavailable', 'gone');
  };
  await publish(site);
  t.match(
    site.copy('secrets', 'registry', 'acme'),
    DATA,
    'the other namespace takes over nothing in the meantime',
  );
});

t.test('shared: a namespace receives copies only by the labels of provisioning', async (t) => {
  const site = publishingSite({ mode: 'shared' });
  site.publish('secrets', 'registry', DATA, 'acme');
  const owned = { 'stonegate.dev/domain-id': 'acme' };
  site.objects.put(NAMESPACE, {}, { metadata: { name: 'mine', labels: owned } });
  site.objects.put(NAMESPACE, {}, { metadata: { name: 'other', annotations: owned } });
  await publish(site);
  t.notOk(site.copy('secrets', 'registry', 'mine'));
  t.notOk(site.copy('secrets', 'registry', 'other'));
});

/** A role that is published with its binding. */
function publishReaders(site: ReturnType<typeof publishingSite>) {
  const rules = [rule('get', 'pods')];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'readers' };
  site.publish('roles', 'readers', { rules });
  site.publish('rolebindings', 'readers', { roleRef, subjects: [] });
}

t.test('a binding is not copied into a tenant that has its own role of that name', async (t) => {
  const site = publishingSite();
  publishReaders(site);
  site.objects.put(NAMESPACE, { tenant: 'acme' }, { metadata: { name: 'shared' } });
  site.objects.put(kindOf('roles'), IN_ACME, { metadata: { name: 'readers' }, rules: [] });
  const { plan } = await publish(site);
  t.match(plan.refusals, [{ reason: /not overwritten/ }, { reason: /it needs Thing readers in acme/ }]);
  t.equal(site.copy('rolebindings', 'readers', 'acme'), undefined);
  t.ok(site.copy('rolebindings', 'readers', 'globex'));
});

t.test('a binding is not copied into a tenant into which its role could not be copied', async (t) => {
  const site = publishingSite();
  publishReaders(site);
  site.objects.before = (verb, { resource }, { tenant }) => {
    if (verb === 'create' && resource === 'roles' && tenant === 'acme')
      throw new StatusError('ProvisioningRefused', 'quota');
  };
  const { failures } = (await publish(site)).applied;
  t.match(failures, [{ reason: 'quota' }, { reason: /it needs .* readers in acme\/shared/ }]);
  t.equal(site.copy('rolebindings', 'readers', 'acme'), undefined);
  t.ok(site.copy('rolebindings', 'readers', 'globex'));
});
