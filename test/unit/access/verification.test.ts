/** A sample of the index's decisions is compared with the API server's own. */
import t, { type Test } from 'tap';
import type { ReviewedAccess } from '../../../src/access/ports.ts';
import { createVerifier, withVerification } from '../../../src/access/verification.ts';
import { INDEXED_RESOURCES } from '../../../src/api/rbac-v1.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import type { VerificationResult } from '../../../src/lib/telemetry.ts';
import { type Question, type RBACUser, uniformSubject } from '../../../src/rbac/attributes.ts';
import { visibleNamespaces } from '../../../src/rbac/enumerate.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { accessIndexOf } from '../../support/access-index.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import {
  clusterRole,
  clusterRoleBinding,
  indexOf,
  namespace,
  nextRevision,
  question,
  rbacUser,
  user,
} from '../../support/rbac-objects.ts';

const alice = rbacUser('alice', ['staff']);
const userOf = (home: string, name: string): RBACUser => ({ ...rbacUser(`${home}:${name}`), home });
const READER = [
  clusterRole('reader', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]),
  clusterRoleBinding('readers', 'ClusterRole/reader', [user('alice')]),
];
const PODS = question('get', 'pods', 'a');
const MINUTE = 60_000;

/** An API server that answers `answer`, at the revision that the index has at first. */
function site(
  t: Test,
  {
    oneIn = 1,
    fractions = [0],
    index = indexOf(namespace('a'), namespace('b')),
    isRBACAlone = true,
  }: {
    oneIn?: number;
    fractions?: readonly number[];
    index?: RBACIndex;
    isRBACAlone?: boolean;
  } = {},
) {
  const clock = createFakeClock();
  const results: VerificationResult[] = [];
  const lines: { fields: object; message: string }[] = [];
  const asked: { user: RBACUser; question: Question }[] = [];
  const server = {
    answer: (): Promise<ReviewedAccess> => Promise.resolve('notAllowed'),
    revision: async () => index.revision,
  };
  let drawn = 0;
  const log = (fields: object, message: string) => lines.push({ fields, message });
  const verifier = createVerifier({
    index,
    oneIn,
    isRBACAlone,
    clock,
    random: {
      fraction: () => fractions[drawn++ % fractions.length] ?? 0,
      uuid: () => '',
      bytes: (size) => Buffer.alloc(size),
    },
    logger: { debug() {}, info: log, warn: log, error: log },
    telemetry: { accessVerified: (result) => results.push(result) },
    source: {
      review(user, question) {
        asked.push({ user, question });
        return server.answer();
      },
      revision: () => server.revision(),
    },
  });
  t.teardown(() => verifier.stop());
  /** Lets pending responses arrive. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    verifier,
    clock,
    results,
    lines,
    asked,
    server,
    index,
    settled,
    async pass(...milliseconds: readonly number[]) {
      await settled();
      for (const time of milliseconds) {
        clock.advance(time);
        await settled();
      }
    },
  };
}

t.test('a decision that the API server shares changes nothing', async (t) => {
  const { verifier, results, asked, pass } = site(t);
  verifier.sample(alice, PODS, false);
  await pass();
  t.strictSame(asked, [{ user: alice, question: PODS }]);
  t.strictSame(results, ['agreed']);
  t.notOk(verifier.isSuspended(uniformSubject(alice)));
  t.equal(verifier.incompleteBecause, undefined);
});

t.test('one decision in N is compared, and none if N is 0', async (t) => {
  const { verifier, asked } = site(t, { oneIn: 4, fractions: [0.3, 0.9, 0.24, 0.5] });
  for (let at = 0; at < 4; at += 1) verifier.sample(alice, PODS, false);
  t.equal(asked.length, 1);
  const none = site(t, { oneIn: 0 });
  none.verifier.sample(alice, PODS, false);
  none.verifier.sampleNamespaces(uniformSubject(alice), visibleNamespaces(''), ['a']);
  t.equal(none.asked.length, 0);
});

t.test('a difference that settles at the first repetition changes nothing', async (t) => {
  const { verifier, results, lines, pass, asked } = site(t);
  // The response was made from an older state: the index itself says no by now.
  verifier.sample(alice, PODS, true);
  await pass();
  t.strictSame(results, []);
  await pass(1_000);
  t.equal(asked.length, 2);
  t.strictSame(results, ['settled']);
  t.notOk(verifier.isSuspended(uniformSubject(alice)));
  t.strictSame(lines, []);
});

/** The first review and its three repetitions. */
const REPETITIONS = [1_000, 5_000, 30_000] as const;

t.test('a difference that stays suspends the user for ten minutes', async (t) => {
  const { verifier, results, lines, pass, server } = site(t);
  server.answer = async () => 'allowed';
  verifier.sample(alice, PODS, false);
  await pass(1_000, 5_000);
  t.notOk(verifier.isSuspended(uniformSubject(alice)));
  await pass(30_000);
  t.strictSame(results, ['differed']);
  t.ok(verifier.isSuspended(uniformSubject(rbacUser('alice'))));
  t.notOk(verifier.isSuspended(uniformSubject(rbacUser('bob'))));
  t.match(verifier.incompleteBecause, /disagree/);
  t.match(lines, [{ fields: { user: 'alice', verb: 'get', resource: 'pods', index: 'noOpinion' } }]);
  await pass(10 * MINUTE);
  t.notOk(verifier.isSuspended(uniformSubject(alice)));
  t.equal(verifier.incompleteBecause, undefined);
});

t.test('what another authorizer may have decided is no difference', async (t) => {
  const { verifier, results, lines, asked, server, pass } = site(t, { isRBACAlone: false });
  server.answer = async () => 'allowed';
  for (const name of ['alice', 'bob', 'carol']) {
    verifier.sample(userOf('acme', name), PODS, false);
    await pass();
  }
  server.answer = async () => 'denied';
  verifier.sample(userOf('acme', 'dave'), PODS, true);
  await pass(...REPETITIONS);
  t.equal(asked.length, 4, 'no review is repeated');
  t.strictSame(results, Array(4).fill('otherAuthorizer'));
  t.notOk(verifier.isSuspended(uniformSubject(userOf('acme', 'alice'))));
  t.equal(verifier.incompleteBecause, undefined);
  t.strictSame(lines, []);
});

t.test(
  'what no authorizer allows or denies differs from a grant of the index, whatever they are',
  async (t) => {
    for (const isRBACAlone of [true, false]) {
      const index = indexOf(namespace('a'), ...READER);
      const { verifier, results, pass } = site(t, { isRBACAlone, index });
      verifier.sample(alice, PODS, true);
      await pass(...REPETITIONS);
      t.strictSame(results, ['differed']);
      t.ok(verifier.isSuspended(uniformSubject(alice)));
    }
  },
);

t.test('if RBAC alone decides, a denial is a difference', async (t) => {
  const { verifier, results, server, pass } = site(t, { index: indexOf(namespace('a'), ...READER) });
  server.answer = async () => 'denied';
  verifier.sample(alice, PODS, true);
  await pass(...REPETITIONS);
  t.strictSame(results, ['differed']);
});

t.test(
  'a difference counts only if the index has passed a revision from after the last review',
  async (t) => {
    const { verifier, results, server, index, pass } = site(t);
    server.answer = async () => 'allowed';
    const current = nextRevision();
    server.revision = async () => current;
    verifier.sample(alice, PODS, false);
    await pass(...REPETITIONS, 30_000);
    t.strictSame(results, []);
    t.notOk(verifier.isSuspended(uniformSubject(alice)));
    for (const resource of INDEXED_RESOURCES) index.progress(resource, current);
    await pass();
    t.strictSame(results, ['differed']);
    t.ok(verifier.isSuspended(uniformSubject(alice)));
  },
);

t.test('an index that never catches up disagrees with nothing', async (t) => {
  const { verifier, results, server, pass, clock } = site(t);
  server.answer = async () => 'allowed';
  server.revision = async () => Number.MAX_SAFE_INTEGER;
  verifier.sample(alice, PODS, false);
  await pass(...REPETITIONS, 5 * MINUTE);
  t.strictSame(results, ['unsettled']);
  t.equal(clock.pending, 0);
});

t.test('a user whose rights change all the time is no disagreement', async (t) => {
  for (const changeAfter of [0, 1, 2]) {
    const { verifier, results, server, pass, index, clock } = site(t);
    server.answer = async () => 'allowed';
    const flap = () =>
      index.put(clusterRoleBinding('x', 'ClusterRole/none', [user(clock.now() % 2 === 0 ? 'alice' : 'x')]));
    verifier.sample(alice, PODS, false);
    await pass();
    while (results.length === 0) {
      await pass(...REPETITIONS.slice(0, changeAfter));
      flap();
      await pass(15_001);
    }
    t.strictSame(results, ['unsettled'], `a change after ${changeAfter} repetitions`);
    t.notOk(verifier.isSuspended(uniformSubject(alice)));
  }
});

t.test('a change of other users ends no comparison', async (t) => {
  const { verifier, results, server, pass, index } = site(t);
  server.answer = async () => 'allowed';
  verifier.sample(alice, PODS, false);
  await pass(1_000);
  index.put(clusterRoleBinding('x', 'ClusterRole/none', [user('bob')]));
  index.put(namespace('c'));
  await pass(5_000, 30_000);
  t.strictSame(results, ['differed']);
});

t.test('three users of one tenant turn the feature off for their tenant alone', async (t) => {
  const { verifier, server, pass, lines } = site(t);
  server.answer = async () => 'allowed';
  for (const name of ['alice', 'bob', 'carol', 'dave', 'erin']) {
    verifier.sample(userOf('acme', name), PODS, false);
    await pass(...REPETITIONS, 9 * MINUTE);
  }
  t.ok(verifier.isSuspended(uniformSubject(userOf('acme', 'frank'))));
  t.notOk(verifier.isSuspended(uniformSubject(userOf('globex', 'gina'))));
  t.match(verifier.incompleteBecause, /several users/);
  t.equal(lines.length, 4);
  t.match(lines.at(-1), { fields: { tenant: 'acme' }, message: /three users of a tenant/ });
});

t.test('users of three tenants turn it off for all; further decisions are not compared', async (t) => {
  const { verifier, server, pass, lines, asked } = site(t);
  server.answer = async () => 'allowed';
  for (const tenant of ['acme', 'globex', 'initech']) {
    verifier.sample(userOf(tenant, 'alice'), PODS, false);
    await pass(...REPETITIONS, 15 * MINUTE);
  }
  t.ok(verifier.isSuspended(uniformSubject(userOf('umbrella', 'dave'))));
  t.match(verifier.incompleteBecause, /several tenants/);
  t.equal(lines.length, 4);
  t.match(lines.at(-1)?.message, /until the configuration is reloaded/);
  const { length } = asked;
  verifier.sample(alice, PODS, false);
  t.equal(asked.length, length);
});

t.test('users whose tenant is not known count as users of one tenant', async (t) => {
  const { verifier, server, pass } = site(t);
  server.answer = async () => 'allowed';
  for (const name of ['alice', 'bob', 'carol']) {
    verifier.sample(rbacUser(name), PODS, false);
    await pass(...REPETITIONS);
  }
  t.ok(verifier.isSuspended(uniformSubject(rbacUser('dave'))));
  t.notOk(verifier.isSuspended(uniformSubject(userOf('acme', 'dave'))));
});

t.test('one user again and again, or three users in three hours, do not', async (t) => {
  const { verifier, server, pass } = site(t);
  server.answer = async () => 'allowed';
  for (const name of ['alice', 'alice', 'alice', 'bob']) {
    verifier.sample(rbacUser(name), PODS, false);
    await pass(...REPETITIONS, 11 * MINUTE);
  }
  await pass(60 * MINUTE);
  verifier.sample(rbacUser('carol'), PODS, false);
  await pass(...REPETITIONS);
  t.ok(verifier.isSuspended(uniformSubject(rbacUser('carol'))));
  t.notOk(verifier.isSuspended(uniformSubject(alice)));
});

t.test('at most two reviews run; a third decision is dropped', async (t) => {
  const { verifier, results, server, asked, pass } = site(t);
  server.answer = () => new Promise(() => {});
  for (let at = 0; at < 3; at += 1) verifier.sample(alice, PODS, false);
  await pass();
  t.equal(asked.length, 2);
  t.strictSame(results, ['dropped']);
});

t.test('an API server that does not answer is no difference', async (t) => {
  const { verifier, results, server, pass, clock } = site(t);
  const down = () => Promise.reject(new StatusError('UpstreamUnavailable', 'gone'));
  server.answer = down;
  verifier.sample(alice, PODS, false);
  await pass();
  t.strictSame(results, ['failed']);
  t.equal(clock.pending, 0);
  // Down between the repetitions: they go on.
  server.answer = async () => 'allowed';
  verifier.sample(alice, PODS, false);
  await pass();
  server.answer = down;
  await pass(1_000);
  server.answer = async () => 'allowed';
  await pass(30_000, 5_000);
  server.revision = down;
  await pass(30_000);
  server.revision = async () => 0;
  await pass(30_000);
  t.strictSame(results, ['failed', 'differed']);
});

t.test('D139: an answer that this release does not know is neither yes nor no', async (t) => {
  const { verifier, results, server, pass, clock } = site(t);
  server.answer = async () => 'unknown';
  verifier.sample(alice, PODS, true);
  await pass();
  t.strictSame(results, ['unknown']);
  t.equal(clock.pending, 0);
});

t.test('of an enumeration one namespace is compared, as the user of that namespace', async (t) => {
  const { verifier, asked, results, pass } = site(t, { fractions: [0, 0.9, 0.6] });
  const member = rbacUser('alice', ['b-member']);
  const subject = { cluster: alice, other: alice, namespaces: new Map([['b', member]]) };
  verifier.sampleNamespaces(subject, visibleNamespaces(''), ['a']);
  await pass();
  t.strictSame(asked, [{ user: member, question: question('get', 'namespaces', 'b', { name: 'b' }) }]);
  t.strictSame(results, ['agreed']);
});

t.test('of an enumeration of another form one decision is compared, if it has any', async (t) => {
  const { verifier, asked, results, pass } = site(t);
  verifier.sampleOne(() => undefined);
  verifier.sampleOne((pick) => ({ user: alice, question: pick([PODS]) ?? PODS, allowed: false }));
  await pass();
  t.strictSame(asked, [{ user: alice, question: PODS }]);
  t.strictSame(results, ['agreed']);
  const none = site(t, { oneIn: 0 });
  none.verifier.sampleOne(() => {
    throw new Error('it is not drawn');
  });
});

t.test('a service account of an Arktos tenant is not compared: its name has no tenant', async (t) => {
  const { verifier, asked } = site(t);
  verifier.sample(rbacUser('system:serviceaccount:a:b', [], 'acme'), PODS, false);
  t.equal(asked.length, 0);
});

t.test('after the end nothing is asked', async (t) => {
  const { verifier, server, clock, pass } = site(t);
  server.answer = async () => 'allowed';
  verifier.sample(alice, PODS, false);
  await pass();
  t.equal(clock.pending, 1);
  verifier.stop();
  t.equal(clock.pending, 0);
});

t.test('a disagreement makes enumerations over several users incomplete', async (t) => {
  const site = accessIndexOf();
  const doubts: { incompleteBecause: string | undefined } = { incompleteBecause: undefined };
  const access = withVerification(site.access, doubts);
  t.equal(access.incompleteReason(), undefined);
  doubts.incompleteBecause = 'they disagree';
  t.equal(access.incompleteReason(), 'they disagree');
  t.equal(access.state(), 'current');
  t.ok(await access.waitFor(access.index.revision, 0, new AbortController().signal));
  site.becomeStale();
  t.match(access.incompleteReason(), /no news/);
});

t.test('requests of a tenant whose objects are left out of the index are forwarded unchanged', async (t) => {
  const index = new RBACIndex({ bounds: { objects: 1, bytes: 100_000 } });
  for (const name of ['a', 'b']) index.put(namespace(name, { tenant: 'acme' }));
  const { verifier } = site(t, { index });
  t.ok(verifier.isSuspended(uniformSubject(rbacUser('acme:alice', [], 'acme'))));
  t.notOk(verifier.isSuspended(uniformSubject(rbacUser('globex:gina', [], 'globex'))));
  t.equal(verifier.incompleteBecause, undefined, 'that is no disagreement');
});
