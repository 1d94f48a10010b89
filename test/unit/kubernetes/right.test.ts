import t from 'tap';
import { neededOf, valuesAt } from '../../../src/kubernetes/right.ts';

const GIVEN = {
  operatorIsATenant: true,
  labelsNamespaces: false,
  access: { index: true, sets: [] },
  tokens: {},
};

t.test('a right is needed if all of its conditions hold', async (t) => {
  const isNeeded = (when: string) => neededOf([{ when: when.split(' ').filter(Boolean) }], GIVEN).length > 0;
  for (const when of [
    '',
    'operatorIsATenant access.index tokens access',
    '!quota !labelsNamespaces !access.sets',
  ])
    t.ok(isNeeded(when), when);
  for (const when of ['labelsNamespaces', 'access.sets', 'quota', 'operatorIsATenant quota.count', '!tokens'])
    t.notOk(isNeeded(when), when);
});

t.test(
  'a path finds the values of every entry of a list and of an object, and skips what is not there',
  async (t) => {
    const roles = { member: { clusterRole: 'edit' }, guest: { role: 'guest' }, admin: 'manage' };
    const configuration = {
      bindings: { roles, projects: { a: {}, b: { roles } } },
      quota: { count: ['v1/secrets'] },
    };
    t.same(valuesAt(configuration, 'bindings.roles.*.clusterRole'), ['edit']);
    t.same(valuesAt(configuration, 'bindings.projects.*.roles.*.role'), ['guest']);
    t.same(valuesAt(configuration, 'quota.count.*'), ['v1/secrets']);
    t.strictSame(valuesAt(configuration, 'publishing.kinds.*'), []);
  },
);
