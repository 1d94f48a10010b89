import t from 'tap';
import { memberID } from '../../../../src/features/members/members.ts';
import { createMembersService } from '../../../../src/features/members/members-service.ts';
import { createPeopleSearch } from '../../../../src/features/members/search-people.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { actingIdentity, type IdentityRequests } from '../../../../src/proxy/as-identity.ts';
import { jsonResponse } from '../../../../src/proxy/response/own-responses.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { CLUSTER_ROLES } from '../../../../src/rbac/cluster-roles.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { eventually } from '../../../support/eventually.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { clusterRole, namespace, rbacObject, rbacObjects, rbacUser } from '../../../support/rbac-objects.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const ALICE = keystoneIdentity('alice');
/** A binding in the namespace `web` of the tenant acme. */
const bind = (text: string) => rbacObject(`RoleBinding web/${text}`, 'acme');
const CHANGE = {
  origin: { auditID: 'audit-1', clientAddress: '192.0.2.7' },
  signal: new AbortController().signal,
};
const manager = bind('owners: ClusterRole/stonegate:manage to User acme:alice');
const teams = { groupsOf: () => [], teamsOf: () => [] };

/** The tenant acme of Arktos, in whose namespace `web` alice may manage. */
function site(...objects: readonly StoredObject[]) {
  const roles = [...CLUSTER_ROLES].map(([name, rules]) => clusterRole(name, rules, { tenant: 'acme' }));
  const indexed = accessIndexOf(namespace('web', { tenant: 'acme' }), ...roles, manager, ...objects);
  const sent: string[] = [];
  /** The index learns of a deletion after the response to it. */
  const arrive = (binding: StoredObject) => {
    indexed.delete(binding);
    setImmediate(() => indexed.clock.advance(20));
  };
  const requests: IdentityRequests = {
    subjectOf: async ({ subject }) =>
      uniformSubject(rbacUser(subject.kind === 'keystone' ? `acme:${subject.userName}` : '', [], 'acme')),
    async send(_, { method, target, body = {} }) {
      const name = target.split('/rolebindings').at(-1);
      sent.push(`${method} ${name}`);
      const binding = indexed.index
        .objectsOf('acme')
        .bindingsIn('web')
        .get(name?.slice(1) ?? '');
      if (method === 'DELETE' && binding !== undefined) setImmediate(() => arrive(binding));
      if (method !== 'GET') return jsonResponse(method === 'POST' ? 201 : 200, body);
      const metadata = { name: name?.slice(1), uid: 'uid-1', resourceVersion: '7' };
      const subjects = binding?.subjects.map(({ kind, name }) => ({ kind, name }));
      const kind = { kind: 'RoleBinding', apiVersion: 'rbac.authorization.k8s.io/v1' };
      return jsonResponse(200, { ...kind, metadata, subjects });
    },
  };
  const { access, clock } = indexed;
  const options = { access, clock, mode, requests, teams, keystone: undefined };
  return { ...indexed, sent, options, service: createMembersService(options) };
}

const spec = (name: string, role: string) => ({ type: 'User', name, role }) as const;
const BOB = memberID({ type: 'User', name: 'acme:bob' });

t.test('where the API server has tenants, only the four roles can be given', async (t) => {
  const { service, sent } = site();
  const given = service.add(ALICE, 'web', spec('bob', 'cluster-admin'), CHANGE);
  await t.rejects(given, { code: 'ObjectInvalid', message: /read, control, edit and manage/ });
  t.same(sent, []);
  const { result } = await service.add(ALICE, 'web', spec('bob', 'edit'), CHANGE);
  t.match(result, { metadata: { name: BOB }, spec: { name: 'acme:bob', role: 'edit' } });
  t.same(sent, ['POST ']);
});

t.test('a role that the tenant lacks is not given, though the API server would bind it', async (t) => {
  const { service, sent, clock, index } = site();
  index.delete(clusterRole('stonegate:edit', [], { tenant: 'acme' }));
  const refused = service.add(ALICE, 'web', spec('bob', 'edit'), CHANGE);
  await eventually(() => clock.pending > 0);
  clock.advance(3_000);
  await t.rejects(refused, { code: 'NotFound', message: 'there is no ClusterRole "stonegate:edit"' });
  t.same(sent, ['POST ?dryRun=All']);
});

t.test('in shared mode too only a role that exists is given', async (t) => {
  const { options, sent } = site();
  const { access, clock } = accessIndexOf(
    namespace('web'),
    clusterRole('stonegate:manage', CLUSTER_ROLES.get('stonegate:manage') ?? []),
    rbacObject('RoleBinding web/owners: ClusterRole/stonegate:manage to User acme:alice'),
  );
  const requests = { ...options.requests, subjectOf: async () => uniformSubject(rbacUser('acme:alice')) };
  const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
  const service = createMembersService({ ...options, access, clock, mode: shared, requests });
  const refused = service.add(ALICE, 'web', spec('bob', 'view'), CHANGE);
  await eventually(() => clock.pending > 0);
  clock.advance(3_000);
  await t.rejects(refused, { code: 'NotFound', message: 'there is no ClusterRole "view"' });
  t.same(sent, ['POST ?dryRun=All']);
});

t.test('a role that was just made is given as soon as it is known', async (t) => {
  const { service, sent, clock, index, put } = site();
  const role = clusterRole('stonegate:edit', [], { tenant: 'acme' });
  index.delete(role);
  const given = service.add(ALICE, 'web', spec('bob', 'edit'), CHANGE);
  await eventually(() => clock.pending > 0);
  put(role);
  clock.advance(20);
  await given;
  t.same(sent, ['POST ?dryRun=All', 'POST ']);
});

t.test('a binding for another tenant’s user does not make a member, since it grants nothing', async (t) => {
  const { service } = site(bind('b: ClusterRole/stonegate:edit to User globex:eve, Group ops'));
  const { result } = await service.list(ALICE, 'web');
  t.same(
    result.map((member) => member.spec.name),
    ['ops', 'acme:alice'],
  );
});

t.test('the new role is given before the old one is taken away', async (t) => {
  const { service, sent } = site(bind('b: ClusterRole/stonegate:edit to User acme:bob'));
  await service.set(ALICE, 'web', BOB, spec('acme:bob', 'read'), CHANGE);
  t.same(sent, ['GET /b', 'POST ', 'DELETE /b']);
});

t.test('the last two who may manage a namespace cannot remove each other at the same time', async (t) => {
  const { service, sent } = site(bind('b: ClusterRole/stonegate:manage to User acme:bob'));
  const alice = memberID({ type: 'User', name: 'acme:alice' });
  const removed = await Promise.allSettled([
    service.remove(ALICE, 'web', BOB, CHANGE),
    service.remove(keystoneIdentity('bob'), 'web', alice, CHANGE),
  ]);
  t.match(removed, [{ status: 'fulfilled' }, { status: 'rejected' }]);
  t.same(sent, ['GET /b', 'DELETE /b']);
});

t.test('many changes of one user at once do not refuse the change of another', async (t) => {
  const { options } = site(bind('b: ClusterRole/stonegate:read to User acme:bob'));
  const answer = Promise.withResolvers<void>();
  const send: IdentityRequests['send'] = async ({ subject }) => {
    await answer.promise;
    return subject.kind === 'keystone' && subject.userName === 'bob'
      ? jsonResponse(403, { message: 'rolebindings is forbidden' })
      : jsonResponse(201, {});
  };
  const service = createMembersService({ ...options, requests: { ...options.requests, send } });
  const bob = keystoneIdentity('bob');
  const refused = Promise.allSettled(
    Array.from({ length: 60 }, () => service.add(bob, 'web', spec('bob', 'manage'), CHANGE)),
  );
  const given = service.add(ALICE, 'web', spec('carol', 'read'), CHANGE);
  answer.resolve();
  t.match(await given, { result: { spec: { name: 'acme:carol', role: 'read' } } });
  t.ok((await refused).every(({ status }) => status === 'rejected'));
});

t.test('changes as many impersonated users count as those of the user who impersonates', async (t) => {
  const { options } = site();
  const answer = Promise.withResolvers<void>();
  const subjectOf: IdentityRequests['subjectOf'] = async (identity) => {
    await answer.promise;
    return options.requests.subjectOf(identity);
  };
  const service = createMembersService({ ...options, requests: { ...options.requests, subjectOf } });
  const bob = keystoneIdentity('bob');
  const impersonator = mode.userOf(bob, mode.tenantOf(bob));
  const refused = Promise.allSettled(
    Array.from({ length: 60 }, (_, at) => {
      const user = { ...impersonator, username: `acme:user-${at}` };
      const identity = actingIdentity({ proven: bob, impersonator, user });
      return service.add(identity, 'web', spec('bob', 'read'), CHANGE);
    }),
  );
  const given = service.add(ALICE, 'web', spec('carol', 'read'), CHANGE);
  answer.resolve();
  t.match(await given, { result: { spec: { name: 'acme:carol', role: 'read' } } });
  t.ok((await refused).every(({ status }) => status === 'rejected'));
});

t.test('a binding that the API server calls invalid is refused with its message', async (t) => {
  const { options } = site();
  const send = async () => jsonResponse(422, { message: 'RoleBinding is invalid' });
  const service = createMembersService({ ...options, requests: { ...options.requests, send } });
  const given = service.add(ALICE, 'web', spec('bob', 'edit'), CHANGE);
  await t.rejects(given, { code: 'ObjectInvalid', message: 'RoleBinding is invalid' });
});

t.test('without a current index nothing is shown and nothing is changed', async (t) => {
  const { service, sent, becomeStale } = site();
  becomeStale();
  const changes: readonly Promise<object>[] = [
    service.list(ALICE, 'web'),
    service.list(ALICE, 'no-such-namespace'),
    service.add(ALICE, 'web', spec('bob', 'read'), CHANGE),
    service.remove(ALICE, 'web', BOB, CHANGE),
  ];
  for (const change of changes) await t.rejects(() => change, { code: 'AccessIndexUnavailable' });
  t.same(sent, []);
});

t.test(
  'a search finds members of the user’s namespaces and teams, or of the whole tenant if configured',
  async (t) => {
    const { options } = site(
      ...rbacObjects(
        `Namespace lab
        RoleBinding web/b: ClusterRole/stonegate:read to User acme:bob, User globex:bill
        RoleBinding lab/c: ClusterRole/stonegate:read to User acme:barbara`,
        'acme',
      ),
    );
    const group = 'stonegate:team:acme:ops';
    const members = ['acme:alice', 'acme:bert'];
    const ops = {
      groupsOf: (_: string, name: string) => (members.includes(name) ? [group] : []),
      teamsOf: () => [
        { spec: { name: 'ops', members } },
        { spec: { name: 'other', members: ['acme:boris'] } },
      ],
    };
    const search = (inviteAnyone: boolean) => createPeopleSearch({ ...options, teams: ops, inviteAnyone });
    t.same(await search(false)(ALICE, 'b'), ['acme:bert', 'acme:bob']);
    t.same(await search(true)(ALICE, 'b'), ['acme:barbara', 'acme:bert', 'acme:bob', 'acme:boris']);
    t.same(await search(false)(ALICE, 'acme:barbara'), []);
    t.same(await search(false)(keystoneIdentity('newcomer'), 'b'), []);
  },
);
