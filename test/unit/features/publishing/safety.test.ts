import t from 'tap';
import { parse } from 'yaml';
import { readPublishing } from '../../../../src/features/publishing/read-state.ts';
import { PUBLISHED } from '../../../../src/kubernetes/published-objects.ts';
import {
  kindOf,
  type Mode,
  type PublishingSite,
  publish,
  publishingSite,
  TENANTS,
} from '../../../support/memory-published.ts';
import { rule } from '../../../support/policy-rule.ts';

const DATA = { type: 'Opaque', data: { password: 'c2VjcmV0' } };
const NAMESPACE = kindOf('namespaces');
const SECRETS = kindOf('secrets');

/** Does the work once, before the next call of the verb. */
function once(site: PublishingSite, verb: string, kind: typeof SECRETS, work: () => void): void {
  site.objects.before = (called, { resource }) => {
    if (called !== verb || resource !== kind.resource) return;
    site.objects.before = () => {};
    work();
  };
}

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  const kind = mode === 'arktos' ? TENANTS : NAMESPACE;

  t.test(
    `${mode}: a tenant that was deleted and created again during a run receives nothing in that run`,
    async (t) => {
      const site = publishingSite({ mode });
      site.publish('secrets', 'registry', DATA);
      once(site, 'list', SECRETS, () => {
        const { metadata } = site.objects.find(kind, {}, 'acme') ?? {};
        site.objects.drop(kind, {}, 'acme');
        site.objects.put(kind, {}, { metadata });
      });
      const { applied } = await publish(site);
      t.equal(site.copy('secrets', 'registry', 'acme'), undefined);
      t.ok(site.copy('secrets', 'registry', 'globex'));
      t.match(applied.failures, [{ reason: /acme has changed since it was selected/ }]);
      await publish(site);
      t.ok(site.copy('secrets', 'registry', 'acme'), 'the next run selects it anew');
    },
  );

  t.test(
    `${mode}: a tenant whose labels change during a run receives nothing for the old ones`,
    async (t) => {
      const site = publishingSite({ mode });
      site.tenant('initech', { 'stonegate.dev/tier': 'gold' });
      site.publish('secrets', 'registry', DATA, 'stonegate.dev/tier=gold');
      once(site, 'list', SECRETS, () => site.tenant('initech', { 'stonegate.dev/tier': 'none' }));
      await publish(site);
      t.equal(site.copy('secrets', 'registry', 'initech'), undefined);
    },
  );

  t.test(
    `${mode}: a source that was made from a copy, with its labels, is reported and not deleted`,
    async (t) => {
      const site = publishingSite({ mode });
      site.publish('secrets', 'registry', DATA);
      await publish(site);
      const { metadata } = site.copy('secrets', 'registry', 'acme') ?? {};
      const annotations = { ...metadata?.annotations, [PUBLISHED]: 'all' };
      site.objects.put(SECRETS, site.home, {
        ...DATA,
        metadata: { name: 'registry', labels: metadata?.labels, annotations },
      });
      const { plan } = await publish(site);
      t.match(plan.refusals, [{ subject: 'secrets/shared/registry', reason: /it is a copy itself/ }]);
      t.ok(site.objects.find(SECRETS, site.home, 'registry'));
      await publish({ ...site, rules: { ...site.rules, namespaces: [] } }, true);
      t.ok(
        site.objects.find(SECRETS, site.home, 'registry'),
        'nor is it deleted when nothing is published any more',
      );
    },
  );

  t.test(`${mode}: a copy that loses its label before it is deleted stays`, async (t) => {
    const site = publishingSite({ mode });
    site.publish('secrets', 'registry', DATA, 'acme');
    await publish(site);
    site.objects.drop(SECRETS, site.home, 'registry');
    const copy = site.copy('secrets', 'registry', 'acme');
    const place = mode === 'arktos' ? { tenant: 'acme', namespace: 'shared' } : { namespace: 'acme' };
    once(site, 'delete', SECRETS, () =>
      site.objects.put(SECRETS, place, {
        ...copy,
        metadata: { name: 'registry', labels: { 'stonegate.dev/managed-by': 'stonegate' } },
      }),
    );
    await publish(site);
    t.ok(site.copy('secrets', 'registry', 'acme'));
  });
}

t.test('the contents of the objects of tenants are not held in memory', async (t) => {
  const site = publishingSite({ mode: 'shared' });
  const large = { type: 'Opaque', data: { large: 'bGFyZ2U=' } };
  site.publish('secrets', 'registry', { type: 'Opaque', data: { small: 'eA==' } });
  site.publish('secrets', 'own', DATA);
  await publish(site);
  const copy = site.copy('secrets', 'registry', 'acme');
  site.objects.put(SECRETS, { namespace: 'acme' }, { ...copy, ...large });
  site.objects.put(SECRETS, { namespace: 'acme' }, { ...large, metadata: { name: 'own' } });
  const state = await readPublishing({ ...site, signal: new AbortController().signal });
  t.ok(state.existing.length > 0);
  t.notMatch(JSON.stringify(state.existing), /bGFyZ2U=/);
});

t.test(
  'shared: a label that a tenant sets on its namespace during a run does not delay its copies',
  async (t) => {
    const site = publishingSite({ mode: 'shared' });
    site.publish('secrets', 'registry', DATA);
    once(site, 'list', SECRETS, () => site.tenant('acme', { team: 'a' }));
    const { applied } = await publish(site);
    t.same(applied.failures, []);
    t.ok(site.copy('secrets', 'registry', 'acme'));
  },
);

t.test(
  'shared: a binding grants the Role of its own namespace, not one of that name from another',
  async (t) => {
    const site = publishingSite({ mode: 'shared', configuration: { namespaces: ['shared', 'later'] } });
    site.objects.put(NAMESPACE, {}, { metadata: { name: 'later' } });
    site.publish('roles', 'reader', {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [rule('get', 'pods')] },
    });
    const binding = parse(`
      apiVersion: rbac.authorization.k8s.io/v1
      kind: RoleBinding
      metadata: {name: readers, annotations: {${PUBLISHED}: all}}
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
      subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'keystone:group:g'}]`);
    site.objects.put(kindOf('rolebindings'), { namespace: 'later' }, binding);
    const { plan } = await publish(site);
    t.ok(site.copy('roles', 'reader', 'acme'));
    t.equal(site.copy('rolebindings', 'readers', 'acme'), undefined);
    t.match(plan.refusals, [{ subject: /readers/, reason: /its role reader is not published to/ }]);
  },
);
