import t from 'tap';
import { neededOf, valuesAt } from '../../../src/kubernetes/right.ts';

const GIVEN = {
  operatorIsATenant: true,
  labelsNamespaces: false,
  access: { index: true, sets: [] },
  tokens: {},
};

t.test('a right is needed if all of its conditions hold', async (t) => {
  for (const [when, isNeeded] of [
    [[], true],
    [['operatorIsATenant', 'access.index', 'tokens', 'access'], true],
    [['labelsNamespaces'], false],
    [['access.sets'], false],
    [['quota'], false],
    [['operatorIsATenant', 'quota.count'], false],
    [['!quota', '!labelsNamespaces', '!access.sets'], true],
    [['!tokens'], false],
  ] as const)
    t.equal(neededOf([{ when }], GIVEN).length, isNeeded ? 1 : 0, when.join(' '));
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
