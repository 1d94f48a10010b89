import t from 'tap';
import { parse } from 'yaml';
import type { AdmissionRequest } from '../../../../src/kubernetes/admission-v1.ts';
import {
  ADMIN,
  ALICE,
  admissionRequest,
  decisionOf,
  refusedPaths,
  verdictOn,
} from '../../../support/admission-reviews.ts';

const PUBLISHED = 'multi-tenancy.k8s.io/published';
const POLICY = 'multi-tenancy.k8s.io/published-policy';
const DORA = { username: 'system:stonegate:dora', groups: ['system:authenticated'] };
const EVERYTHING = { kinds: [], clusterScoped: [] };

function object(annotations: object = {}, metadata: object = {}, fields: object = {}): object {
  return { metadata: { name: 'c', tenant: 'system', annotations, ...metadata }, ...fields };
}

type Options = Parameters<typeof verdictOn>[2];

const reviewed = (changes: Partial<AdmissionRequest>, holds: boolean, options: Options = {}) =>
  verdictOn(
    admissionRequest({ resource: 'configmaps', namespace: 'shared', user: DORA, ...changes }),
    () => holds,
    options,
  );

t.test('setting, changing and removing the annotations needs the right to publish', async (t) => {
  const [plain, set] = [object(), object({ [PUBLISHED]: 'all' })];
  const first = object({ [PUBLISHED]: 'all', [POLICY]: 'SystemFirst' });
  const update = (before: object, after: object) =>
    ({ operation: 'UPDATE', name: 'c', oldObject: before, object: after }) as const;
  for (const changes of [update(plain, set), update(set, plain), update(set, first), update(first, set)])
    t.match(await reviewed(changes, true), {
      allowed: true,
      asked: parse(`[{
        user: 'system:stonegate:dora', tenant: system,
        verb: publish, group: '', resource: configmaps, namespace: shared, name: c}]`),
    });
});

t.test('an empty annotation counts, and so does one that is not a string', async (t) => {
  for (const value of ['', null, 1])
    t.match(
      await reviewed({ object: object({ [PUBLISHED]: value }) }, false),
      { allowed: false },
      `${value}`,
    );
});

t.test('objects of every kind need the right to be published, also through subresources', async (t) => {
  const set = object({ [PUBLISHED]: 'all' });
  const publishing = {
    ...EVERYTHING,
    kinds: [{ group: 'batch', version: 'v1', resource: 'cronjobs', namespaced: true }],
  };
  const update = { operation: 'UPDATE', object: set, oldObject: object() } as const;
  for (const [group, resource] of [
    ['', 'secrets'],
    ['rbac.authorization.k8s.io', 'clusterroles'],
    ['apiextensions.k8s.io', 'customresourcedefinitions'],
    ['batch', 'cronjobs'],
  ] as const)
    for (const subresource of ['', 'status']) {
      const changes = { ...update, group, resource, subresource };
      t.match(
        await reviewed(changes, false, { publishing }),
        { allowed: false },
        `${resource}/${subresource}`,
      );
    }
  t.match(await reviewed({ resource: 'services', object: set }, false), {
    allowed: true,
    asked: { length: 0 },
  });
});

t.test('on Arktos tenants cannot publish, so the annotation has no effect on their objects', async (t) => {
  const own = object({ [PUBLISHED]: 'all' }, { tenant: 'acme' });
  t.match(await reviewed({ object: own, user: ALICE }, false), { allowed: true, asked: { length: 0 } });
});

t.test(
  'in shared mode the right is needed in every namespace, since any may become a publishing namespace',
  async (t) => {
    const set = object({ [PUBLISHED]: 'all' });
    for (const user of [ADMIN, ALICE])
      t.match(await reviewed({ object: set, user, namespace: 'acme' }, false, { mode: 'shared' }), {
        allowed: false,
        asked: [{ tenant: undefined, verb: 'publish', namespace: 'acme' }],
      });
  },
);

t.test('copies belong to Stonegate', async (t) => {
  const marks = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/published-from': 'd' };
  const copyIn = (tenant: string, data: object, labels: object = marks) =>
    object({}, { tenant, labels }, { data });
  const copy = copyIn('acme', { a: 'b' });
  const stored = { resource: 'configmaps', namespace: 'shared', name: 'c', oldObject: copy } as const;
  const paths = (changes: Partial<AdmissionRequest>, mode: 'arktos' | 'shared' = 'arktos') =>
    refusedPaths(decisionOf({ mode })(admissionRequest({ ...stored, ...changes })));

  await t.test('a user of a tenant may not change or delete copies', async (t) => {
    for (const mode of ['arktos', 'shared'] as const) {
      t.same(paths({ operation: 'UPDATE', object: copyIn('acme', { a: 'c' }) }, mode), ['data']);
      t.same(paths({ operation: 'DELETE' }, mode), ['metadata.name']);
      t.same(paths({ operation: 'UPDATE', object: copy }, mode), []);
      const status = {
        operation: 'UPDATE',
        subresource: 'status',
        object: { ...copy, status: { used: {} } },
      } as const;
      t.same(paths(status, mode), ['status']);
    }
  });

  await t.test(
    'controllers that delete objects may delete copies; the quota controller may write their status',
    async (t) => {
      for (const name of ['namespace-controller', 'generic-garbage-collector', 'tenant-controller']) {
        const user = { username: `system:serviceaccount:kube-system:${name}`, groups: [] };
        for (const mode of ['arktos', 'shared'] as const)
          t.same(paths({ operation: 'DELETE', user }, mode), [], name);
      }
      const user = { username: 'system:serviceaccount:kube-system:resourcequota-controller', groups: [] };
      const counted = { ...copyIn('acme', { a: 'b' }), status: { used: { pods: '1' } } };
      const change = {
        operation: 'UPDATE',
        subresource: 'status',
        resource: 'resourcequotas',
        user,
      } as const;
      t.same(paths({ ...change, object: counted }), []);
      const object = copyIn('acme', { a: 'c' });
      t.same(paths({ ...change, object }), ['data'], 'the quota controller may change nothing else');
    },
  );
});
