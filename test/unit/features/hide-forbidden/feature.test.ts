/** Which requests get a 404 in place of a 403, and for which users. */
import t from 'tap';
import { createHideForbidden } from '../../../../src/features/hide-forbidden/build.ts';
import type { Question } from '../../../../src/kubernetes/authorizer-attributes.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { accessIndexOf, boundedAccessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { openMode } from '../../../support/fake-pipeline.ts';
import { claimIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { question, rbacObject, role } from '../../../support/rbac-objects.ts';
import { linesOf } from '../../../support/rows.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const REFUSAL = Buffer.from(
  '{"kind":"Status","message":"pods \\"x\\" is forbidden: User \\"alice\\" cannot"}\n',
);
const CONFIG_MAP = '/api/v1/namespaces/n/configmaps/x';

/** Lets alice do the verbs to the ConfigMap x. */
function objects(...verbs: readonly string[]): StoredObject[] {
  const rule = { verbs, apiGroups: [''], resources: ['configmaps'], resourceNames: ['x'] };
  return [role('n', 'r', [rule]), rbacObject('RoleBinding n/b: Role/r to User acme:alice')];
}

function site({ access } = accessIndexOf(), username = 'acme:alice') {
  const sampled: [Question, boolean][] = [];
  const verifier = { sample: (_: unknown, asked: Question, is: boolean) => void sampled.push([asked, is]) };
  const { responseHooks: [hook] = [] } = createHideForbidden(openMode, { access, verifier });
  const requestOf = (method: string, target: string, more: object) => {
    const outgoing = outgoingOf(openMode, claimIdentity('alice'), { method, target, ...more });
    return { ...outgoing, user: { ...outgoing.user, username } };
  };
  const hookFor = (method: string, target: string, more = {}) => hook?.(requestOf(method, target, more));
  const isHidden = (method: string, target = CONFIG_MAP) =>
    hookFor(method, target)?.onForbidden?.(REFUSAL) !== undefined;
  return { sampled, hookFor, isHidden };
}

t.test('only requests for a named object can get a 404 in place of a 403', async (t) => {
  const { hookFor } = site();
  const pods = '/api/v1/namespaces/n/pods';
  const upgrade = { protocol: 'spdy/3.1', socket: process.stdout, head: Buffer.alloc(0) };
  const isRead = (line: string, more = {}) => {
    const [method = '', target = ''] = line.split(' ');
    return hookFor(method, target, more) !== undefined;
  };
  for (const request of linesOf(`
    GET ${pods}/x
    PATCH ${pods}/x/status
    DELETE ${pods}/x
    GET /api/v1/namespaces/n`))
    t.ok(isRead(request), request);
  for (const request of linesOf(`
    GET ${pods}
    GET ${pods}?fieldSelector=metadata.name%3Dx
    DELETE ${pods}
    POST ${pods}/x/eviction
    GET ${pods}/x/proxy/secret
    GET /version`))
    t.notOk(isRead(request), request);
  t.notOk(isRead(`GET ${pods}/x/exec`, { upgrade }));
});

t.test('an object is hidden if the user has neither the verb nor `get` on it', async (t) => {
  const hidden = (verbs: readonly string[], method: string) =>
    site(accessIndexOf(...objects(...verbs))).isHidden(method);
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) t.ok(hidden([], method), method);
  t.ok(hidden(['list', 'watch', 'create'], 'GET'), 'the right to list does not count');
  t.notOk(hidden(['get'], 'DELETE'), 'the user may read it');
  t.notOk(hidden(['delete'], 'DELETE'), 'the refusal has another cause, such as an admission webhook');
  t.ok(hidden(['patch'], 'DELETE'));
  const reader = site(accessIndexOf(...objects('get')));
  t.notOk(reader.isHidden('PATCH', `${CONFIG_MAP}/status`), 'for a subresource, `get` on the object counts');
  t.ok(reader.isHidden('PATCH', '/api/v1/namespaces/n/configmaps/y/status'));
});

t.test('nothing is hidden while the index may be incomplete', async (t) => {
  t.notOk(site(unsyncedAccessIndex()).isHidden('GET'));
  const index = accessIndexOf();
  const stale = site(index);
  t.ok(stale.isHidden('GET'));
  index.becomeStale();
  t.notOk(stale.isHidden('GET'));
  t.notOk(site(boundedAccessIndexOf(1, ...objects())).isHidden('GET'), 'the index is off');
  const large = { ...role('n', 'large', []), isTooLarge: true as const };
  const { isHidden } = site(accessIndexOf(large));
  t.notOk(isHidden('GET'));
  t.ok(isHidden('GET', '/api/v1/namespaces/other/configmaps/x'));
});

t.test('the finding that the user may not get the object is sampled for verification', async (t) => {
  const { isHidden, sampled } = site();
  isHidden('DELETE', `${CONFIG_MAP}/status`);
  t.strictSame(sampled, [[question('get', 'configmaps', 'n', { name: 'x' }), false]]);
});

t.test(
  'an object that the owner of an access token may get is hidden if the token may not get it',
  async (t) => {
    const { access } = accessIndexOf(...objects('get'));
    const [hook] = createHideForbidden(openMode, { access, verifier: { sample() {} } }).responseHooks ?? [];
    const isHidden = (scopes: string) => {
      const identity = { ...claimIdentity('alice'), accessToken: tokenScope(scopes) };
      const outgoing = outgoingOf(openMode, identity, { method: 'DELETE', target: CONFIG_MAP });
      return hook?.(outgoing)?.onForbidden?.(REFUSAL) !== undefined;
    };
    t.notOk(isHidden('namespace/n/edit'));
    t.ok(isHidden('namespace/other/edit'));
  },
);
