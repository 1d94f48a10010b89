/** When the API server's refusal may be shown as the object's absence. */
import t from 'tap';
import { createHiddenObjects } from '../../../../src/features/hide-forbidden/hidden-objects.ts';
import type { Question } from '../../../../src/rbac/attributes.ts';
import { accessIndexOf, boundedAccessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import {
  question,
  rbacUser,
  role,
  roleBinding,
  serviceAccount,
  user,
} from '../../../support/rbac-objects.ts';

const alice = rbacUser('alice');
const named = (verb: string, resource: string) => question(verb, resource, 'n', { name: 'x' });
const trusted = { sample() {} };

function objects(...verbs: readonly string[]) {
  const rule = { verbs, apiGroups: [''], resources: ['configmaps'], resourceNames: ['x'] };
  return [role('n', 'r', [rule]), roleBinding('n', 'b', 'Role/r', [user('alice'), serviceAccount('robot')])];
}

t.test('an object is hidden if the user has neither the verb nor `get` on it', async (t) => {
  const hidden = (verbs: readonly string[], asked: string) => {
    const { access } = accessIndexOf(...objects(...verbs));
    return createHiddenObjects(access, trusted).isHidden(alice, named(asked, 'configmaps'));
  };
  for (const verb of ['get', 'update', 'patch', 'delete']) t.ok(hidden([], verb), verb);
  t.ok(hidden(['list', 'watch', 'create'], 'get'), 'a list names it, but does not count');
  t.notOk(hidden(['get'], 'delete'), 'the user may read it');
  t.notOk(hidden(['delete'], 'delete'), 'the refusal is of another cause, as of an admission webhook');
  t.ok(hidden(['patch'], 'delete'));
});

t.test('of a subresource `get` on the object itself counts', async (t) => {
  const { access } = accessIndexOf(...objects('get'));
  const { isHidden } = createHiddenObjects(access, trusted);
  t.notOk(isHidden(alice, named('patch', 'configmaps/status')));
  t.ok(isHidden(alice, question('patch', 'configmaps/status', 'n', { name: 'y' })));
});

t.test('nothing is hidden from service accounts', async (t) => {
  const { isHidden } = createHiddenObjects(accessIndexOf().access, trusted);
  t.notOk(isHidden(rbacUser('system:serviceaccount:n:robot'), named('get', 'configmaps')));
  t.ok(isHidden(alice, named('get', 'configmaps')));
});

t.test('nothing is hidden while the index is not synced, is stale or off', async (t) => {
  const asked = named('get', 'configmaps');
  t.notOk(createHiddenObjects(unsyncedAccessIndex().access, trusted).isHidden(alice, asked));
  const site = accessIndexOf();
  const { isHidden } = createHiddenObjects(site.access, trusted);
  t.ok(isHidden(alice, asked));
  site.becomeStale();
  t.notOk(isHidden(alice, asked));
  const off = boundedAccessIndexOf(1, ...objects());
  t.notOk(createHiddenObjects(off.access, trusted).isHidden(alice, asked));
});

t.test('nothing is hidden where a role or binding is left out of the index', async (t) => {
  const large = { ...role('n', 'large', []), isTooLarge: true as const };
  const { isHidden } = createHiddenObjects(accessIndexOf(large).access, trusted);
  t.notOk(isHidden(alice, named('get', 'configmaps')));
  t.ok(isHidden(alice, question('get', 'configmaps', 'other', { name: 'x' })));
});

t.test('that the user may not get the object is sampled', async (t) => {
  const sampled: [Question, boolean][] = [];
  const { isHidden } = createHiddenObjects(accessIndexOf().access, {
    ...trusted,
    sample: (_, question, allowed) => sampled.push([question, allowed]),
  });
  isHidden(alice, named('delete', 'configmaps/status'));
  t.strictSame(sampled, [[named('get', 'configmaps'), false]]);
});
