/**
 * What one request of an unprivileged user costs the main thread at most, in a process of its own: the case
 * is named by the argument. Prints milliseconds and megabytes as JSON.
 */
import process from 'node:process';
import { compileAccessRules } from '../../../src/features/access-rules/access-rules.ts';
import { readAdmissionReview } from '../../../src/features/admission/admission-review.ts';
import { podPartOf } from '../../../src/features/admission/pod-part.ts';
import { podSecurityViolations } from '../../../src/features/admission/pod-security.ts';
import { membersIn } from '../../../src/features/members/members.ts';
import { shownMember } from '../../../src/features/members/shown-member.ts';
import { scopedRules } from '../../../src/features/self-reviews/scoped-rules.ts';
import { decodeObject } from '../../../src/kubernetes/kubernetes-protobuf.ts';
import { parseLabelSelector } from '../../../src/kubernetes/lists/label-selector.ts';
import { parseBody } from '../../../src/proxy/request/inspected-format.ts';
import { SubjectFilter } from '../../../src/proxy/subject-owner.ts';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import { CLUSTER_ROLES } from '../../../src/rbac/cluster-roles.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { accessIndexOf } from '../../support/access-index.ts';
import { encodeObject } from '../../support/protobuf.ts';
import {
  clusterRole,
  indexOf,
  namespace,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';
import { tokenScope } from '../../support/token-scope.ts';

const ROUNDS = 3;
const BODY = { depth: 256, nodes: 40_000 };
const EVERYTHING = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };

function many<T>(length: number, make: (at: number) => T): T[] {
  return Array.from({ length }, (_, at) => make(at));
}

function members(count: number): object {
  return Object.fromEntries(many(count, (at) => [`member-${at}`, 1]));
}

function wideScope(verbs: number, groups: number, resources: number, rules: number) {
  const texts = (count: number, prefix: string) => many(count, (at) => prefix + at.toString(36));
  const rule = { verbs: texts(verbs, 'v'), apiGroups: texts(groups, ''), resources: texts(resources, 'r') };
  return tokenScope(
    '',
    many(rules, () => ({ ...rule, namespaces: ['*'] })),
  );
}

function selfSubjectRules(rules: number, scope: ReturnType<typeof tokenScope>) {
  const status = { resourceRules: many(rules, () => EVERYTHING), nonResourceRules: [], incomplete: false };
  return () => JSON.stringify(scopedRules(status, scope, { namespace: 'web', tenant: '' }));
}

function accessRules(scope: ReturnType<typeof tokenScope>, roles: number) {
  const index = indexOf(
    namespace('web'),
    ...many(roles, (at) => [
      role(
        'web',
        `r${at}`,
        many(1_000, () => ({ ...EVERYTHING, resources: ['*', `x${at}`] })),
      ),
      roleBinding('web', `b${at}`, `Role/r${at}`, [user('alice')]),
    ]).flat(),
  );
  const subject = uniformSubject({ ...rbacUser('alice'), scope });
  return () => JSON.stringify(compileAccessRules(index, subject, { verb: '*' }));
}

/** As long a list as there is. */
function memberList() {
  const bindings = many(18, (binding) =>
    roleBinding(
      'web',
      `b${binding}`,
      'ClusterRole/stonegate:read',
      many(540, (at) => user(`acme:user-${binding}-${at}`)),
    ),
  );
  const roles = [...CLUSTER_ROLES].map(([name, rules]) => clusterRole(name, rules));
  const { index } = accessIndexOf(namespace('web'), ...roles, ...bindings);
  const teams = { groupsOf: () => [], teamsOf: () => [] };
  const place = { namespace: 'web', tenant: toTenantName('acme'), namesHaveTenant: false, teams };
  const viewer = {
    ...{ user: rbacUser('acme:alice', ['system:masters']), tenant: 'acme', isSystem: false },
    ...{ domainID: undefined, namePrefix: 'acme:' },
  };
  const filter = new SubjectFilter(viewer, { index, isCurrent: true, scopes: undefined });
  return () =>
    JSON.stringify(
      membersIn(index.objectsOf(''), place)
        .filter(({ key, grants }) => grants.some(({ binding }) => filter.shows({ key, binding })))
        .map((member) => shownMember(member, place, filter)),
    );
}

function definitionReview(definition: object) {
  const kind = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
  const request = { uid: 'u', operation: 'CREATE', resource: kind, userInfo: {}, object: definition };
  const body = Buffer.from(
    JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request }),
  );
  return () => readAdmissionReview(body);
}

function body(encoding: 'json' | 'yaml', text: string) {
  const bytes = Buffer.from(text);
  return () => parseBody(bytes, encoding, BODY);
}

function podReview() {
  const pod = { spec: { containers: many(2_450, () => ({})) } };
  const part = podPartOf('', 'pods', pod);
  const rule = { level: 'restricted', version: 'v1.30', mode: 'enforce' } as const;
  return () => part && podSecurityViolations(part, rule);
}

function protobuf() {
  const bytes = encodeObject(
    'v1',
    'ConfigMap',
    many(13_000, (at) => [
      2,
      [
        [1, `key${at}`],
        [2, 'x'],
      ],
    ]),
  );
  return () => decodeObject(bytes);
}

function labelSelector() {
  const text = `a in (${many(20_000, (at) => `-${at.toString(36)}`).join()})`.slice(0, 64 * 1024);
  return () => parseLabelSelector(text);
}

const CASES: Readonly<Record<string, () => () => unknown>> = {
  'SelfSubjectRulesReview, wide token, 20,000 rules': () =>
    selfSubjectRules(20_000, wideScope(64, 63, 64, 4)),
  'SelfSubjectRulesReview, token "read", 20,000 rules': () => selfSubjectRules(20_000, tokenScope('read')),
  'selfaccessrules, wide token, 19,000 rules': () => accessRules(wideScope(64, 63, 64, 4), 19),
  'selfaccessrules, 24,000 single grants': () => accessRules(wideScope(29, 28, 29, 1), 1),
  'selfaccessrules, token "read", 19,000 rules': () => accessRules(tokenScope('read'), 19),
  'members of a namespace, 9,700 grants': memberList,
  'review of a definition, 199,000 keys': () => definitionReview({ spec: { versions: [members(199_000)] } }),
  'review of a definition, 8 MB': () =>
    definitionReview({ spec: { versions: [many(900_000, () => ({ a: 1 }))] } }),
  'JSON, 100,000 escaped keys': () =>
    body('json', `{${many(100_000, (at) => `"\\u0061${at.toString(36)}":1`).join()}}`),
  'JSON, 3 MB in 14,000 objects': () =>
    body('json', JSON.stringify(many(13_000, (at) => ({ [`key${at % 7}`]: 'x'.repeat(200) })))),
  'JSON, 19,900 keys': () => body('json', JSON.stringify(members(19_900))),
  'YAML, 8 KiB': () => body('yaml', `[${many(2_700, () => '{}').join()}]`),
  'YAML, 8 KiB that is none': () => body('yaml', '}\n'.repeat(4_096)),
  'protobuf, 13,000 entries': protobuf,
  'label selector, 64 KiB of what is no value': labelSelector,
  'review of a pod, 2,450 containers': podReview,
};

const [, , name = ''] = process.argv;
if (name === '') console.log(JSON.stringify(Object.keys(CASES)));
else {
  const run = CASES[name]?.();
  if (run === undefined) throw new Error(`there is no case ${name}`);
  const { rss } = process.memoryUsage();
  const times = many(ROUNDS, () => {
    const began = process.threadCpuUsage();
    try {
      run();
    } catch {
      // A request that is refused takes time too.
    }
    const { user: own, system } = process.threadCpuUsage(began);
    return (own + system) / 1_000;
  });
  const grown = process.resourceUsage().maxRSS * 1_024 - rss;
  console.log(JSON.stringify({ ms: Math.max(...times), laterMs: Math.min(...times), addedMB: grown / 1e6 }));
}
