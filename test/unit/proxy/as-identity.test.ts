import t from 'tap';
import { createAdmission } from '../../../src/features/admission/build.ts';
import type { RoleLookup } from '../../../src/identity/keystone/role-lookup.ts';
import { createAccessReviewer } from '../../../src/kubernetes/access-reviewer.ts';
import type { UpstreamFetcher } from '../../../src/kubernetes/upstream-ports.ts';
import { createAccessSubjects } from '../../../src/proxy/access-subject.ts';
import { actingIdentity, createIdentityRequests } from '../../../src/proxy/as-identity.ts';
import { jsonResponse } from '../../../src/proxy/response/own-responses.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { keystoneIdentity } from '../../support/identities.ts';

type Sent = Parameters<UpstreamFetcher['fetch']>[0];

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const origin = { auditID: 'audit-1', clientAddress: '192.0.2.7' };
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings';
const { signal } = new AbortController();

/** @param allowed whether the user may bind a role */
function requestsTo(sent: Sent[], { allowed = true, roles }: { allowed?: boolean; roles?: RoleLookup } = {}) {
  const fetcher: UpstreamFetcher = {
    async fetch(request) {
      if (!request.target.endsWith('subjectaccessreviews')) sent.push(request);
      return jsonResponse(201, {
        kind: 'SubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        status: { allowed },
      });
    },
  };
  const path = (tenant: string | undefined, resource: string) => `/${tenant}/${resource}`;
  const { bodyRules = [] } = createAdmission({ mode, reviewer: createAccessReviewer({ fetcher, path }) });
  const upstreamRights = { withheld: new Set<string>(), constrained: false, refused() {} };
  const stages = { mode, maxHeaderBytes: 10_000, upstreamRights, ...(roles && { roles }) };
  const subjects = createAccessSubjects(stages);
  return createIdentityRequests({ ...stages, subjects, fetcher, bodyRules: () => bodyRules });
}

t.test(
  'a request has the path and account of the tenant, and no identity but that of the user',
  async (t) => {
    const sent: Sent[] = [];
    await requestsTo(sent).send(
      keystoneIdentity('alice'),
      { method: 'GET', target: BINDINGS, origin },
      signal,
    );
    t.match(sent, [
      {
        account: { kind: 'tenant', tenant: 'acme' },
        sender: { kind: 'stonegate' },
        target: BINDINGS.replace('/v1/', '/v1/tenants/acme/'),
      },
    ]);
    const names = new Set(sent[0]?.headers.map(([name]) => name));
    t.same(sent[0]?.headers.filter(([name]) => name === 'Impersonate-User').flat(), [
      'Impersonate-User',
      'acme:alice',
    ]);
    t.notOk(names.has('Authorization'));
  },
);

t.test('looked-up roles are those of the namespace in the path', async (t) => {
  const sent: Sent[] = [];
  const roles: RoleLookup = {
    inScope: async (identity, { namespace }) => ({ ...identity, groups: [`role-in-${namespace}`] }),
    projectNamespaces: async () => ['web'],
  };
  const identity = keystoneIdentity('alice', { assignmentsOf: 'id-of-alice' });
  const requests = requestsTo(sent, { roles });
  await requests.send(identity, { method: 'GET', target: BINDINGS, origin }, signal);
  t.ok(sent[0]?.headers.some(([, value]) => value === 'role-in-web'));
  const { namespaces } = await requests.subjectOf(identity);
  t.match(namespaces.get('web')?.groups, ['role-in-web']);
});

t.test('on Arktos, a binding needs the right to bind its role, just like a forwarded one', async (t) => {
  const sent: Sent[] = [];
  const body = {
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'stonegate:manage' },
  };
  const request = { method: 'POST', target: BINDINGS, body, origin } as const;
  const alice = keystoneIdentity('alice');
  await t.rejects(requestsTo(sent, { allowed: false }).send(alice, request, signal), {
    code: 'AccessDenied',
  });
  t.same(sent, []);
  await requestsTo(sent).send(alice, request, signal);
  t.match(sent, [{ method: 'POST', body: JSON.stringify(body) }]);
});

t.test('a client that impersonates acts as the other user, without its own roles', async (t) => {
  const sent: Sent[] = [];
  const proven = keystoneIdentity('alice', { assignmentsOf: 'id-of-alice' });
  const bob = { username: 'acme:bob', uid: '', groups: ['system:authenticated'], extra: {} };
  const roles: RoleLookup = {
    inScope: async (identity) => ({ ...identity, groups: ['role-of-alice'] }),
    projectNamespaces: async () => [],
  };
  const identity = actingIdentity({ proven, impersonator: { ...bob, username: 'acme:alice' }, user: bob });
  await requestsTo(sent, { roles }).send(identity, { method: 'GET', target: BINDINGS, origin }, signal);
  const impersonated = sent[0]?.headers.filter(([name]) => name.startsWith('Impersonate'));
  t.same(impersonated, [
    ['Impersonate-User', 'acme:bob'],
    ['Impersonate-Group', 'system:authenticated'],
  ]);
});
