/**
 * The RBAC index decides as a real kube-apiserver does: with random roles and bindings, thousands of its
 * decisions are compared with SubjectAccessReviews.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Question } from '../../src/kubernetes/authorizer-attributes.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { type RBACUser, uniformSubject } from '../../src/rbac/attributes.ts';
import { allows, decide, describeGrant, grantsOf } from '../../src/rbac/decide.ts';
import { type NamespacesQuestion, namespacesAllowed, visibleNamespaces } from '../../src/rbac/enumerate.ts';
import type { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { ruleAllows } from '../../src/rbac/rules.ts';
import { firstSubjectOf } from '../../src/rbac/subject-key.ts';
import { eventually } from '../support/eventually.ts';
import { type Kubernetes, startKubernetes } from '../support/kubernetes/api-server.ts';
import { followRBAC } from '../support/kubernetes/follow-rbac.ts';
import { kubeControllerManager, missing, missingKubernetes } from '../support/kubernetes/programs.ts';
import {
  AGGREGATED,
  collection,
  NAMESPACES,
  type RandomObject,
  randomObjects,
  randomQuestion,
  randomUser,
  UNBOUND,
} from '../support/kubernetes/random-rbac.ts';
import { grant } from '../support/kubernetes/rbac.ts';
import { rule } from '../support/policy-rule.ts';
import { eachRow } from '../support/rows.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const QUESTIONS = 2_000;
/** Requests in flight at once. */
const CONCURRENT = 8;
const ROUNDS = [0, 1, 2];

interface Review {
  readonly allowed: boolean;
  readonly reason: string;
}

async function review(kubernetes: Kubernetes, user: RBACUser, question: Question): Promise<Review> {
  const attributes =
    'path' in question
      ? { nonResourceAttributes: question }
      : {
          resourceAttributes: {
            verb: question.verb,
            group: question.apiGroup,
            resource: question.resource,
            subresource: question.subresource,
            namespace: question.namespace,
            name: question.name,
          },
        };
  const spec = { user: user.username, groups: user.groups, ...attributes };
  const reply = await kubernetes.admit('POST', REVIEWS, { spec });
  const { status }: { status: { allowed: boolean; reason?: string } } = JSON.parse(reply.body);
  return { allowed: status.allowed, reason: status.reason ?? '' };
}

/** Calls `action` with the values in their order, a few at a time. */
async function each<T>(values: readonly T[], action: (value: T) => Promise<void>) {
  const left = values.values();
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      for (const value of left) await action(value);
    }),
  );
}

/** Every reason that the API server may give: which binding it finds first depends on its cache. */
function possibleReasons(index: RBACIndex, user: RBACUser, question: Question) {
  const namespace = 'path' in question ? '' : question.namespace;
  const granting = [...grantsOf(index.objectsOf(''), user, namespace, new Set())].filter(({ role }) =>
    role.rules.some((rule) => ruleAllows(rule, question)),
  );
  const clusterWide = granting.filter(({ binding }) => binding.namespace === '');
  return (clusterWide.length > 0 ? clusterWide : granting).flatMap(({ binding }) => {
    const subject = firstSubjectOf(binding, user);
    return subject === undefined ? [] : `RBAC: allowed by ${describeGrant({ binding, subject })}`;
  });
}

/** The errors in a refusal's reason, sorted. */
function errorsIn(reason: string) {
  return reason
    .replace(/^RBAC: \[?/, '')
    .replace(/\]$/, '')
    .split(/, (?=role\.|clusterrole\.)/)
    .sort();
}

/** @returns what differs; undefined if the index decides as the API server does */
function differenceOf(index: RBACIndex, user: RBACUser, question: Question, server: Review) {
  const decision = decide(index, user, question);
  const isAllowed = decision.decision === 'allow';
  const possible = isAllowed && decision.grant !== undefined ? possibleReasons(index, user, question) : [''];
  const isSame =
    isAllowed === server.allowed &&
    (isAllowed
      ? possible.includes(server.reason) && possible.includes(decision.reason)
      : isDeepStrictEqual(errorsIn(decision.reason), errorsIn(server.reason)));
  return isSame ? undefined : { user, question, decision, server, possible };
}

/** Creates or replaces the objects. */
async function write(kubernetes: Kubernetes, objects: readonly RandomObject[]) {
  await each(objects, async ({ path, object }) => {
    const place = `${path}/${encodeURIComponent(object.metadata.name)}`;
    const found = await kubernetes.ask(kubernetes.admin, place);
    if (found.status === 404) await kubernetes.create(path, object);
    else await kubernetes.admit('PUT', place, object);
  });
}

/** Waits until the controller has filled the aggregated roles from all roles that were written before. */
async function aggregate(kubernetes: Kubernetes, round: number) {
  const verb = `aggregated-${round}`;
  await write(kubernetes, [
    {
      path: collection('', 'clusterroles'),
      object: {
        metadata: { name: 'last', labels: { 'test/sum': 'yes', 'test/other': 'yes' } },
        rules: [{ verbs: [verb], nonResourceURLs: ['/nowhere'] }],
      },
    },
  ]);
  for (const name of AGGREGATED.keys())
    await eventually(async () =>
      (await kubernetes.admit('GET', collection('', `clusterroles/${name}`))).body.includes(verb),
    );
}

/** Writes one object of each kind, and waits until both the API server's RBAC and the index know them all. */
async function mark(kubernetes: Kubernetes, index: RBACIndex, round: number) {
  const name = `marker-${round}`;
  const apiGroup = 'rbac.authorization.k8s.io';
  const subjects = [{ apiGroup, kind: 'User', name }];
  const rules = [rule('mark', 'markers')];
  const object = (namespace: string, kind: 'Role' | 'ClusterRole') => [
    { path: collection(namespace, `${kind.toLowerCase()}s`), object: { metadata: { name }, rules } },
    {
      path: collection(namespace, `${kind.toLowerCase()}bindings`),
      object: { metadata: { name }, subjects, roleRef: { apiGroup, kind, name } },
    },
  ];
  await write(kubernetes, [...object('n1', 'Role'), ...object('', 'ClusterRole')]);
  await kubernetes.create('/api/v1/namespaces', { metadata: { name } });
  const marker: RBACUser = { tenant: '', username: name, groups: [] };
  const mayMark = (namespace: string) => ({
    ...{ verb: 'mark', apiGroup: '', resource: 'markers', subresource: '', name: '', tenant: '' },
    namespace,
  });
  await eventually(() => index.objectsOf('').namespaces.get(name) !== undefined);
  // The index finds both bindings. The API server names the RoleBinding only without the ClusterRoleBinding.
  await eventually(() => [...grantsOf(index.objectsOf(''), marker, 'n1', new Set())].length === 2);
  await eventually(async () => (await review(kubernetes, marker, mayMark(''))).allowed);
  await kubernetes.admit('DELETE', collection('', `clusterrolebindings/${name}`));
  await eventually(async () => {
    const { allowed, reason } = await review(kubernetes, marker, mayMark('n1'));
    return allowed && reason.includes(' RoleBinding');
  });
  await eventually(() => !allows(index, marker, mayMark('')));
}

/** Deletes some of the bindings of earlier rounds. */
async function deleteSome(kubernetes: Kubernetes, written: RandomObject[]) {
  const gone = written.filter((_, at) => at % 3 === 0);
  for (const object of gone) written.splice(written.indexOf(object), 1);
  await each(gone, async ({ path, object }) => {
    await kubernetes.admit('DELETE', `${path}/${encodeURIComponent(object.metadata.name)}`);
  });
}

async function compareDecisions(t: Test, kubernetes: Kubernetes, index: RBACIndex, seed: number) {
  const asked = fc.sample(fc.tuple(randomUser, randomQuestion), { seed, numRuns: QUESTIONS });
  const differences: unknown[] = [];
  let allowed = 0;
  await each(asked, async ([user, question]) => {
    const server = await review(kubernetes, user, question);
    if (server.allowed) allowed += 1;
    const difference = differenceOf(index, user, question, server);
    if (difference !== undefined) differences.push(difference);
  });
  t.strictSame(differences.slice(0, 3), [], `${differences.length} of ${asked.length} differ`);
  // One user in 30 may do everything and one in 10 nothing, whatever the roles and bindings are.
  t.ok(allowed > 10 && asked.length - allowed > 100, `${allowed} were allowed`);
}

async function compareNamespaces(t: Test, kubernetes: Kubernetes, index: RBACIndex, seed: number) {
  const questions: NamespacesQuestion[] = [
    visibleNamespaces(''),
    { verb: 'list', apiGroup: '', resource: 'pods', subresource: '', tenant: '', name: '' },
    { verb: 'get', apiGroup: 'apps', resource: 'deployments', subresource: 'scale', tenant: '', name: '' },
  ];
  const asked = fc.sample(fc.tuple(randomUser, fc.constantFrom(...questions)), { seed, numRuns: 60 });
  const namespaces = [...index.objectsOf('').namespaces.keys()].sort();
  t.ok(NAMESPACES.every((name) => namespaces.includes(name)));
  await each(asked, async ([user, question]) => {
    const allowed: string[] = [];
    for (const namespace of namespaces) {
      const name = question.name === '' ? '' : namespace;
      if ((await review(kubernetes, user, { ...question, namespace, name })).allowed) allowed.push(namespace);
    }
    t.strictSame(
      namespacesAllowed(index, uniformSubject(user), question),
      allowed,
      JSON.stringify([user, question]),
    );
  });
}

const skip = missingKubernetes() || missing(kubeControllerManager());
t.test(
  'D006 D101 D102 D103 D105 D106 D107 D109 D114 D117 the index decides as the API server does',
  { skip },
  async (t) => {
    const kubernetes = await startKubernetes(t, { controllers: true });
    for (const name of NAMESPACES) await kubernetes.create('/api/v1/namespaces', { metadata: { name } });
    const index = await followRBAC(t, kubernetes);
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    t.comment(`SEED=${seed}`);
    const written: RandomObject[] = [];
    for (const round of ROUNDS) {
      const [objects] = fc.sample(randomObjects(round), { seed: seed + round, numRuns: 1 });
      if (objects === undefined) throw new Error('no objects');
      await write(kubernetes, objects.roles);
      await write(kubernetes, objects.bindings);
      await deleteSome(kubernetes, written);
      written.push(...objects.bindings);
      await aggregate(kubernetes, round);
      await mark(kubernetes, index, round);
      await compareDecisions(t, kubernetes, index, seed + round);
      await compareNamespaces(t, kubernetes, index, seed + round);
    }
    t.match(await review(kubernetes, UNBOUND, { verb: 'get', path: '/nowhere' }), { allowed: false });
  },
);

/** Requests of a user who has rights on the name `a` alone. */
const NAMED_REQUESTS = `
  GET | /api/v1/namespaces/n1/configmaps
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3Da
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3D%3Da
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3Da%2Cmetadata.namespace%3Dn1
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%21%3Da
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3Da%252Fb
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3Db
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3Da&limit=x
  GET | /api/v1/namespaces/n1/configmaps?fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db
  GET | /api/v1/configmaps?fieldSelector=metadata.name%3Da
  GET | /api/v1/namespaces/n1/configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da
  GET | /api/v1/watch/namespaces/n1/configmaps/a?timeoutSeconds=1
  GET | /api/v1/watch/namespaces/n1/configmaps?timeoutSeconds=1
  GET | /api/v1/watch/namespaces/n1/secrets?timeoutSeconds=1
  DELETE | /api/v1/namespaces/n1/configmaps?dryRun=All
  DELETE | /api/v1/namespaces/n1/configmaps/a?dryRun=All
  DELETE | /api/v1/namespaces/n1/configmaps/b?dryRun=All
  DELETE | /api/v1/namespaces/n1/configmaps?dryRun=All&fieldSelector=metadata.name%3Da
  HEAD | /api/v1/namespaces/n1/configmaps/a
  GET | /api/v1/namespaces/n1
  GET | /api/v1/namespaces/n2`;

t.test(
  'D110, D111, D113: the index authorizes a request by the same verb and name as the API server',
  { skip },
  async (t) => {
    const kubernetes = await startKubernetes(t);
    for (const name of ['n1', 'n2']) await kubernetes.create('/api/v1/namespaces', { metadata: { name } });
    const verbs = 'get,list,watch,delete';
    const rules = [
      { ...rule(verbs, 'configmaps'), resourceNames: ['a'] },
      { ...rule(verbs, 'namespaces'), resourceNames: ['n1', 'n2'] },
      rule(verbs, 'secrets'),
    ];
    await grant(kubernetes, { name: 'r', namespace: 'n1', subjects: ['user:alice'], rules });
    const index = await followRBAC(t, kubernetes);
    const alice = await kubernetes.user('alice');
    const user: RBACUser = { tenant: '', username: 'alice', groups: ['system:authenticated'] };
    await eventually(async () => (await kubernetes.ask(alice, '/api/v1/namespaces/n1')).status === 200);
    await eachRow(NAMED_REQUESTS, async (method = '', target = '') => {
      const info = readRequestInfo(method, target, { hasTenantsInPaths: false });
      if (!info.isResourceRequest) throw new TypeError(target);
      const { status } = await kubernetes.ask(alice, target, { method });
      t.equal(allows(index, user, info), status !== 403, `${method} ${target}: ${status}`);
    });
  },
);
