/**
 * What a real Keystone says becomes bindings: each way in which a user gains or loses a role is seen in whom
 * the next run binds.
 */
import t from 'tap';
import { storedBinding } from '../../src/features/bindings/managed-object.ts';
import { makeProvisioningPlan } from '../../src/features/bindings/plan.ts';
import { applyPlan } from '../../src/kubernetes/reconcile/apply.ts';
import { bridgeDirectory } from '../support/keystone/bridge-directory.ts';
import { missingKeystone, startRealKeystone } from '../support/keystone/real-keystone.ts';
import { createMemoryCluster } from '../support/memory-cluster.ts';
import { bindingRules, factsOf } from '../support/provisioning.ts';

const { signal } = new AbortController();

t.test(
  'assignments of a real Keystone become bindings, and go with them',
  { skip: missingKeystone() },
  async (t) => {
    const keystone = await startRealKeystone();
    t.teardown(() => keystone.stop());
    const { call, make } = keystone;
    const [member, reader, lead] = [
      await keystone.role('member'),
      await keystone.role('reader'),
      await keystone.role('lead'),
    ];
    await call('PUT', `/roles/${lead}/implies/${member}`);
    const acme = await make('domains', { name: 'acme' });
    const web = await make('projects', { name: 'web', domain_id: acme });
    const user = (name: string, domain = acme) =>
      make('users', { name, domain_id: domain, password: `${name}-pass` });
    const bridge = await user('bridge', 'default');
    await call('PUT', `/system/users/${bridge}/roles/${reader}`);
    const directory = bridgeDirectory(t, keystone.url);
    const cluster = createMemoryCluster();
    const rules = bindingRules({ subjects: 'users', namespaceFormat: '%n', roles: { member: 'edit' } });

    /** Who is bound to `edit` in the project's namespace after one more run. */
    async function bound(): Promise<string[]> {
      const sources = { directory, objects: cluster, rules, signal };
      const plan = await makeProvisioningPlan({ ...sources, facts: factsOf('shared') }, 'system');
      const { failures } = await applyPlan(plan, {
        objects: cluster,
        maxDeletedShare: 1,
        force: true,
        signal,
      });
      if (failures.length > 0) throw new Error(JSON.stringify(failures));
      return [...cluster.objects.values()]
        .flatMap(({ object, place }) =>
          'subjects' in object && place.namespace === 'web'
            ? storedBinding(object).subjects.map(({ name }) => name)
            : [],
        )
        .map((name) => name.replace(/^acme:(.*)@.*$/, '$1'))
        .sort();
    }

    const alice = await user('alice');
    const onWeb = `/projects/${web}/users/${alice}/roles/${member}`;
    await call('PUT', onWeb);
    t.same(await bound(), ['alice'], 'assigned');
    await call('DELETE', onWeb);
    t.same(await bound(), [], 'unassigned');

    const group = await make('groups', { name: 'developers', domain_id: acme });
    await call('PUT', `/projects/${web}/groups/${group}/roles/${member}`);
    await call('PUT', `/groups/${group}/users/${alice}`);
    t.same(await bound(), ['alice'], 'through a group');
    await call('DELETE', `/groups/${group}/users/${alice}`);
    t.same(await bound(), [], 'no longer in the group');

    const bob = await user('bob');
    await call('PUT', `/OS-INHERIT/domains/${acme}/users/${bob}/roles/${member}/inherited_to_projects`);
    t.same(await bound(), ['bob'], 'inherited from the domain');

    const carol = await user('carol');
    await call('PUT', `/projects/${web}/users/${carol}/roles/${lead}`);
    t.same(await bound(), ['bob', 'carol'], 'implied by another role');

    await call('PATCH', `/users/${bob}`, { user: { enabled: false } });
    t.same(await bound(), ['carol'], 'the user is switched off');
    await call('PATCH', `/projects/${web}`, { project: { enabled: false } });
    t.same(await bound(), [], 'the project is switched off');
    await call('PATCH', `/projects/${web}`, { project: { enabled: true } });
    t.same(await bound(), ['carol']);
    await call('PATCH', `/domains/${acme}`, { domain: { enabled: false } });
    t.same(await bound(), [], 'the domain is switched off');
    await call('PATCH', `/domains/${acme}`, { domain: { enabled: true } });
    await call('DELETE', `/users/${carol}`);
    t.same(await bound(), [], 'the user is gone');
    t.ok(cluster.objects.has('Namespace///web'), 'and the namespace is still there');
  },
);
