import t, { type Test } from 'tap';
import type { UserInfo } from '../../../../src/kubernetes/authentication-v1.ts';
import { recheckStreams } from '../../../../src/proxy/request/open-stream.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline, openMode } from '../../../support/fake-pipeline.ts';

const KEY = 'authentication.kubernetes.io/credential-id';
const WITHHELD: ReadonlySet<string> = new Set([KEY]);
const GRANTED: ReadonlySet<string> = new Set();
const userWith = (extra: UserInfo['extra']) => ({
  username: 'acme:alice',
  uid: 'u1',
  groups: [],
  extra,
});

/** An open watch of a user whose token has an id, and the state that the next validation uses. */
async function openWatch(t: Test, withheld: ReadonlySet<string>) {
  const now = { withheld, user: userWith({ [KEY]: ['JTI=1'] }) };
  const { promise: lasts, resolve: leave } = Promise.withResolvers<void>();
  const pipeline = fakePipeline({
    mode: { ...openMode, userOf: () => now.user },
    upstreamRights: {
      get withheld() {
        return now.withheld;
      },
      constrained: false,
      refused() {},
    },
    forwarder: { forward: () => lasts.then(() => ({ status: 200, aborted: false })) },
  });
  const headers = [['Authorization', 'Bearer token']] as const;
  const served = serveRequest(fakeExchange({ headers, target: '/api/v1/pods?watch=true' }), pipeline);
  t.teardown(async () => {
    leave();
    await served;
  });
  await new Promise((resolve) => setImmediate(resolve));
  const [opener] = pipeline.streams.credentials;
  if (opener === undefined) throw new Error('no stream is open');
  const recheck = async () => {
    await recheckStreams(opener, pipeline);
    return [...opener.streams].map(({ reason }) => reason);
  };
  return { now, recheck };
}

for (const [what, before, after] of [
  ['is missing all the time', WITHHELD, WITHHELD],
  ['is granted while the watch is open', WITHHELD, GRANTED],
  ['is withdrawn while the watch is open', GRANTED, WITHHELD],
] as const)
  t.test(`a watch continues if the right to an extra key ${what}`, async (t) => {
    const { now, recheck } = await openWatch(t, before);
    now.withheld = after;
    t.same(await recheck(), [undefined]);
  });

t.test('a watch ends if its credential now gives another extra, even one that is omitted', async (t) => {
  const { now, recheck } = await openWatch(t, WITHHELD);
  now.user = userWith({ [KEY]: ['JTI=2'] });
  t.same(await recheck(), ['changed']);
});
