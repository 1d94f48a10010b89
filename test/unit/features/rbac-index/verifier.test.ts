/** A sample of the index's decisions is compared with the API server's own. */

import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { Verifier } from '../../../../src/features/rbac-index/verifier.ts';
import type { AccessAttributes, ReviewedStatus } from '../../../../src/kubernetes/access-reviewer.ts';
import type { UserInfo } from '../../../../src/kubernetes/authentication-v1.ts';
import { type Account, STONEGATE_ACCOUNT } from '../../../../src/kubernetes/upstream-request.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { visibleNamespaces } from '../../../../src/rbac/enumerate.ts';
import type { RBACIndex } from '../../../../src/rbac/rbac-index.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { indexOf, namespace, question, rbacObjects, rbacUser } from '../../../support/rbac-objects.ts';
import { recordedTelemetry } from '../../../support/recorded-telemetry.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const alice = rbacUser('alice', ['staff']);
const READER = rbacObjects(`
  ClusterRole reader: get pods
  ClusterRoleBinding readers: ClusterRole/reader to User alice`);
const PODS = question('get', 'pods', 'a');
const AGAIN = 30_000;
const YES: ReviewedStatus = { allowed: true };
const NO: ReviewedStatus = { allowed: false };
const DENIED: ReviewedStatus = { allowed: false, denied: true };

/** A verifier, and an API server whose reviews return what `server.answer` returns. */
function site(
  t: Test,
  {
    oneIn = 1,
    fractions = [0],
    index = indexOf(namespace('a'), namespace('b')),
    isRBACAlone = true,
    inTenants = false,
  }: {
    oneIn?: number;
    fractions?: readonly number[];
    index?: RBACIndex;
    isRBACAlone?: boolean;
    inTenants?: boolean;
  } = {},
) {
  const clock = createFakeClock();
  const results: string[] = [];
  const lines: { fields: object; message: string }[] = [];
  const asked: { user: UserInfo; attributes: AccessAttributes; account: Account }[] = [];
  const server = {
    answer: (): Promise<ReviewedStatus> => Promise.resolve(NO),
  };
  let drawn = 0;
  const log = (fields: object, message: string) => lines.push({ fields, message });
  const verifier = new Verifier({
    index,
    oneIn,
    isRBACAlone,
    clock,
    random: { fraction: () => fractions[drawn++ % fractions.length] ?? 0 },
    logger: { debug() {}, warn: log },
    telemetry: recordedTelemetry(results),
    inTenants,
    reviewer: {
      review(user, attributes, account) {
        asked.push({ user, attributes, account });
        return server.answer();
      },
    },
  });
  t.teardown(() => verifier.stop());
  /** Lets pending responses arrive. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ verifier, clock, results, lines, asked, server, index, settled },
    async pass(...milliseconds: readonly number[]) {
      await settled();
      for (const time of milliseconds) {
        clock.advance(time);
        await settled();
      }
    },
  };
}

t.test('one decision in N is compared, and none if N is 0', async (t) => {
  const { verifier, asked } = site(t, { oneIn: 4, fractions: [0.3, 0.9, 0.24, 0.5] });
  for (let at = 0; at < 4; at += 1) verifier.sample(alice, PODS, false);
  t.equal(asked.length, 1);
  const none = site(t, { oneIn: 0 });
  none.verifier.sample(alice, PODS, false);
  none.verifier.sampleNamespaces(uniformSubject(alice), visibleNamespaces(''), ['a']);
  t.equal(none.asked.length, 0);
});

t.test('a difference that has settled after half a minute is not reported', async (t) => {
  const { verifier, results, lines, pass, asked } = site(t);
  // The response was made from an older state: the index itself says no by now.
  verifier.sample(alice, PODS, true);
  await pass();
  t.strictSame(results, []);
  await pass(AGAIN);
  t.equal(asked.length, 2);
  t.strictSame(results, ['settled']);
  t.strictSame(lines, []);
});

t.test('a difference that lasts is logged and counted', async (t) => {
  const { verifier, results, lines, pass, server, asked } = site(t);
  server.answer = async () => YES;
  verifier.sample(alice, PODS, false);
  await pass(AGAIN - 1);
  t.strictSame(results, []);
  await pass(1);
  t.equal(asked.length, 2);
  t.strictSame(results, ['differed']);
  t.match(lines, [{ fields: { user: 'alice', verb: 'get', resource: 'pods', index: 'noOpinion' } }]);
});

t.test('a decision that another authorizer may have made is not a difference', async (t) => {
  const { verifier, results, lines, asked, server, pass } = site(t, { isRBACAlone: false });
  server.answer = async () => YES;
  for (const name of ['alice', 'bob', 'carol']) {
    verifier.sample(rbacUser(name), PODS, false);
    await pass();
  }
  server.answer = async () => DENIED;
  verifier.sample(rbacUser('dave'), PODS, true);
  await pass(AGAIN);
  t.equal(asked.length, 4, 'no review is repeated');
  t.strictSame(results, Array(4).fill('otherAuthorizer'));
  t.strictSame(lines, []);
});

t.test(
  'a grant of the index that no authorizer confirms is a difference, whatever the authorizers',
  async (t) => {
    for (const isRBACAlone of [true, false]) {
      const index = indexOf(namespace('a'), ...READER);
      const { verifier, results, pass } = site(t, { isRBACAlone, index });
      verifier.sample(alice, PODS, true);
      await pass(AGAIN);
      t.strictSame(results, ['differed']);
    }
  },
);

t.test('in Arktos a denial is a difference, since it says that the tenant is another', async (t) => {
  const { verifier, results, server, asked, pass } = site(t, { isRBACAlone: false, inTenants: true });
  server.answer = async () => DENIED;
  verifier.sample(
    rbacUser('acme:alice', [], 'acme'),
    question('list', 'pods', 'a', { tenant: 'acme' }),
    true,
  );
  await pass(AGAIN);
  t.strictSame(results, ['settled']);
  t.match(asked[0]?.attributes, { resourceAttributes: { tenant: 'acme' } });
});

t.test('at most sixteen decisions are compared at a time; further ones are dropped', async (t) => {
  const { verifier, results, server, asked, pass } = site(t);
  server.answer = async () => YES;
  for (let at = 0; at < 17; at += 1) verifier.sample(alice, PODS, false);
  await pass();
  t.equal(asked.length, 16);
  t.strictSame(results, ['dropped']);
  await pass(AGAIN);
  verifier.sample(alice, PODS, false);
  t.equal(asked.length, 33, 'there is room again');
});

t.test('an API server that does not respond is not a difference', async (t) => {
  const { verifier, results, server, pass, clock } = site(t);
  const down = () => Promise.reject(new StatusError('UpstreamUnavailable', 'gone'));
  server.answer = down;
  verifier.sample(alice, PODS, false);
  await pass();
  server.answer = async () => YES;
  verifier.sample(alice, PODS, false);
  await pass();
  server.answer = down;
  await pass(AGAIN);
  t.strictSame(results, ['failed', 'failed']);
  t.equal(clock.pending, 0);
});

t.test('D139: an answer that this release does not know is neither yes nor no', async (t) => {
  const { verifier, results, server, pass, clock } = site(t);
  server.answer = async () => ({ allowed: false, unknownFields: ['conditions'] });
  verifier.sample(alice, PODS, true);
  await pass();
  t.strictSame(results, ['unknown']);
  t.equal(clock.pending, 0);
});

t.test('one namespace of an enumeration is compared, with the groups that the user has in it', async (t) => {
  const { verifier, asked, results, pass } = site(t, { fractions: [0, 0.9, 0.6] });
  const member = rbacUser('alice', ['b-member']);
  const subject = { cluster: alice, other: alice, namespaces: new Map([['b', member]]) };
  verifier.sampleNamespaces(subject, visibleNamespaces(''), ['a']);
  await pass();
  const resourceAttributes = parse(
    "{verb: get, group: '', resource: namespaces, subresource: '', namespace: b, name: b}",
  );
  const sent = { username: 'alice', uid: '', groups: ['b-member'], extra: {} };
  t.strictSame(asked, [{ user: sent, attributes: { resourceAttributes }, account: STONEGATE_ACCOUNT }]);
  t.strictSame(results, ['agreed']);
});

t.test('a service account of an Arktos tenant is not compared: its name has no tenant', async (t) => {
  const { verifier, asked } = site(t, { inTenants: true });
  verifier.sample(rbacUser('system:serviceaccount:a:b', [], 'acme'), PODS, false);
  t.equal(asked.length, 0);
});

t.test('nothing is reviewed after the verifier is stopped', async (t) => {
  const { verifier, server, clock, pass } = site(t);
  server.answer = async () => YES;
  verifier.sample(alice, PODS, false);
  await pass();
  t.equal(clock.pending, 1);
  verifier.stop();
  t.equal(clock.pending, 0);
});

t.test(
  'decisions about an access token are not compared: the API server knows nothing of its scope',
  async (t) => {
    const { verifier, asked, settled } = site(t);
    verifier.sample({ ...alice, scope: tokenScope('namespace/web/read') }, PODS, false);
    await settled();
    t.same(asked, []);
  },
);
