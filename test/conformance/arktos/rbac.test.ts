/**
 * The RBAC index decides recorded requests and reviews as a real Arktos API server did, with the same roles
 * and bindings.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Question } from '../../../src/kubernetes/authorizer-attributes.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { decide, grantsOf } from '../../../src/rbac/decide.ts';
import { rule } from '../../support/policy-rule.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';

interface Recording {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: {
      readonly spec: {
        readonly user: string;
        readonly groups: readonly string[];
        readonly resourceAttributes: { tenant: string; namespace: string; verb: string; resource: string };
      };
    };
  };
  readonly response: {
    readonly status: number;
    readonly body: {
      readonly status: {
        readonly allowed: boolean;
        readonly reason: string;
        readonly resourceRules: object[];
      };
    };
  };
}

function recording(file: string): Recording {
  return JSON.parse(readFileSync(new URL(`${file}.json`, import.meta.url), 'utf8'));
}

const READ = rule('get,list,watch', 'pods,namespaces');
const EVERYTHING = rule('*', '*', '*');

/** The roles and bindings of the recorded server; each is in a tenant. */
const index = indexOf(
  clusterRole('viewer', [READ], { tenant: 'tenant1' }),
  clusterRole('admin-role', [EVERYTHING, { verbs: ['*'], nonResourceURLs: ['*'] }], { tenant: 'tenant1' }),
  clusterRoleBinding('root', 'ClusterRole/admin-role', [user('tenant1:root')], 'tenant1'),
  clusterRoleBinding('alice', 'ClusterRole/viewer', [user('tenant1:alice')], 'tenant1'),
  clusterRoleBinding('proj1', 'ClusterRole/viewer', [group('keystone:proj1:member')], 'tenant1'),
  roleBinding('default', 'carl-v', 'ClusterRole/viewer', [user('tenant1:carl')], 'tenant1'),
  clusterRole('viewer', [READ], { tenant: 'acme' }),
  roleBinding('default', 'guests', 'ClusterRole/viewer', [group('stonegate:policy:x')], 'acme'),
  clusterRole('tadmin', [EVERYTHING], { tenant: 'globex' }),
  clusterRoleBinding('tadmin', 'ClusterRole/tadmin', [user('globex:gina')], 'globex'),
  clusterRole('pods', [READ], { tenant: 'system' }),
  clusterRoleBinding('ops', 'ClusterRole/pods', [group('grp:ops')], 'system'),
  roleBinding('default', 'ns', 'ClusterRole/pods', [group('grp:ns')], 'system'),
);

/** Arktos takes a user's tenant from the username. */
function userOf(username: string, groups: readonly string[]) {
  return { tenant: username.slice(0, username.indexOf(':')), username, groups };
}

function impersonated({ request }: Recording) {
  const values = (name: string) => request.headers.flatMap(([key, value]) => (key === name ? [value] : []));
  return userOf(values('Impersonate-User')[0] ?? '', values('Impersonate-Group'));
}

t.test('D121: requests of impersonated users are decided as recorded', async (t) => {
  for (const file of [
    'recorded/pods-by-group',
    'recorded/pods-by-rolebinding',
    'recorded/pods-no-rights',
    'recorded/pods-other-namespace-by-rolebinding',
    'recorded/cross-tenant-forbidden',
    'recorded-rights/guest-by-policy-group',
    'recorded-rights/system-rolebinding-counts-in-tenant',
    'recorded-rights/system-user-clusterrolebinding-all',
  ]) {
    const recorded = recording(file);
    const { request, response } = recorded;
    const info = readRequestInfo(request.method, request.path, { hasTenantsInPaths: true });
    if (!info.isResourceRequest) throw new TypeError(request.path);
    const { decision } = decide(index, impersonated(recorded), info);
    t.equal(decision, response.status === 403 ? 'noOpinion' : 'allow', file);
  }
});

t.test('access reviews are decided as recorded, with the same reason', async (t) => {
  for (const file of [
    'recorded/sar-by-system-user',
    'recorded-rights/sar-tenant-user-asks-about-other-tenant',
  ]) {
    const { request, response } = recording(file);
    const { spec } = request.body;
    const question: Question = { apiGroup: '', subresource: '', name: '', ...spec.resourceAttributes };
    const { allowed, reason } = response.body.status;
    const decision = decide(index, userOf(spec.user, spec.groups), question);
    t.match(decision, { decision: allowed ? 'allow' : 'noOpinion', reason }, file);
  }
});

t.test('a user has the rules that were recorded', async (t) => {
  const recorded = recording('recorded/ssrr');
  const grants = grantsOf(index.objectsOf('tenant1'), impersonated(recorded), 'default', new Set());
  t.strictSame(
    [...grants].flatMap(({ role }) => role.rules).filter((rule) => 'resources' in rule),
    recorded.response.body.status.resourceRules,
  );
});
