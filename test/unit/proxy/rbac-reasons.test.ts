/** The reason why RBAC allows or denies a request, according to the index. */
import t from 'tap';
import type { StoredObject } from '../../../src/kubernetes/rbac-v1.ts';
import { createReasonOf } from '../../../src/proxy/rbac-reasons.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../../src/tenancy/tenancy-mode.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { accessIndexOf } from '../../support/access-index.ts';
import { keystoneIdentity } from '../../support/identities.ts';
import { clusterRole, clusterRoleBinding, group, roleBinding, user } from '../../support/rbac-objects.ts';
import { tokenScope } from '../../support/token-scope.ts';

const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const MEMBER = 'keystone:project:p1:role:member';
const READER = [
  { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
  { verbs: ['get'], apiGroups: [], resources: [], nonResourceURLs: ['/metrics'] },
];
const POD = '/api/v1/namespaces/web/pods/x';

interface AskedReason {
  readonly allowed: boolean;
  readonly path?: string;
  readonly mode?: TenancyMode;
  readonly tenant?: string;
  readonly groups?: readonly string[];
  /** Whether the user's token is scoped to the project p1, `shop`. */
  readonly isScoped?: boolean;
  readonly isStale?: boolean;
  readonly isOperator?: boolean;
}

/** The reason for a GET. */
function reason(objects: readonly StoredObject[], asked: AskedReason) {
  const { path = POD, mode = shared, tenant = 'acme', groups = [MEMBER] } = asked;
  const site = accessIndexOf(...objects);
  if (asked.isStale) site.becomeStale();
  const project = { kind: 'project', id: 'p1', name: 'shop', roles: ['member'] } as const;
  const request = {
    info: readRequestInfo('GET', path, mode.facts),
    user: { username: 'alice', uid: '', groups, extra: {} },
    tenant: toTenantName(tenant),
    identity: { ...keystoneIdentity('alice'), ...(asked.isScoped && { scope: project }) },
  };
  return createReasonOf(site.access, mode, asked.isOperator)(request, asked.allowed);
}

const inShared = [
  clusterRole('reader', READER),
  roleBinding('web', 'b', 'ClusterRole/reader', [group(MEMBER)]),
  clusterRoleBinding('metrics', 'ClusterRole/reader', [user('prometheus')]),
];

t.test(
  'the reason gives the name of the project of the user’s own scope, and the id of any other',
  async (t) => {
    t.match(reason(inShared, { allowed: true, isScoped: true }), /^role member on project shop → group /);
    t.match(reason(inShared, { allowed: true }), /^role member on project p1 → group /);
  },
);

t.test('a refusal names what is nearly granted for the object of the request', async (t) => {
  t.equal(
    reason(inShared, { allowed: false, path: `${POD}/log` }),
    'a binding in the namespace grants `get pods`, not `pods/log`',
  );
  const elsewhere = '/api/v1/namespaces/db/pods/x/log';
  t.equal(
    reason(inShared, { allowed: false, path: elsewhere }),
    undefined,
    'nothing is granted in another namespace',
  );
});

t.test('an operator is told the bindings that the user may not read', async (t) => {
  const log = { allowed: false, path: `${POD}/log`, isOperator: true };
  t.equal(reason(inShared, log), 'RoleBinding b grants `get pods`, not `pods/log`');
  t.match(
    reason(inShared, { allowed: true, isOperator: true }),
    /→ RoleBinding b → ClusterRole reader → rule 1: get pods$/,
  );
});

t.test('a path that is not a resource has a reason if it is allowed', async (t) => {
  const objects = [...inShared, clusterRoleBinding('of-alice', 'ClusterRole/reader', [user('alice')])];
  t.equal(reason(objects, { allowed: true, path: '/metrics' }), 'user alice → a cluster-wide binding');
  t.equal(reason(objects, { allowed: false, path: '/logs' }), undefined);
});

t.test('no reason is given while the index is stale', async (t) =>
  t.equal(reason(inShared, { allowed: true, isStale: true }), undefined),
);

t.test('with tenants, only bindings of the user’s own tenant count', async (t) => {
  const objects = (tenant: string) => [
    clusterRole('reader', READER, { tenant }),
    roleBinding('web', 'b', 'ClusterRole/reader', [group(MEMBER)], tenant),
  ];
  const asked = { allowed: true, mode: arktos, path: `/api/v1/tenants/acme/namespaces/web/pods/x` };
  t.ok(reason(objects('acme'), asked));
  t.equal(reason(objects('globex'), asked), undefined);
});

t.test(
  'if an access token does not allow a request, that is the reason, whatever its owner may do',
  async (t) => {
    const { access } = accessIndexOf(...inShared);
    const reasonOf = (scopes: string, allowed: boolean) =>
      createReasonOf(access, shared)(
        {
          info: readRequestInfo('GET', POD, shared.facts),
          user: { username: 'alice', uid: '', groups: [MEMBER], extra: {} },
          tenant: toTenantName('acme'),
          identity: { ...keystoneIdentity('alice'), accessToken: tokenScope(scopes) },
        },
        allowed,
      );
    t.match(reasonOf('namespace/web/read', true), /^role member on project p1/);
    t.match(
      reasonOf('namespace/shop/read', false),
      /does not allow it: its scopes are namespace\/shop\/read/,
    );
    t.equal(
      reasonOf('namespace/shop/read', true),
      undefined,
      'the API server reviewed the owner without the scope',
    );
  },
);
