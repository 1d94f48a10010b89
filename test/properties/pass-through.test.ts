/**
 * Requests that are forwarded with the client’s own token: for any target and header fields, the request
 * stays in the client’s tenant, and nothing but the token names a user.
 */
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { accessReviewPath } from '../../src/app/build-features.ts';
import { createSelfReviewHandler } from '../../src/features/self-reviews/handle-self-review.ts';
import { createConnectCreate } from '../../src/features/tenant-boundary/connect-create.ts';
import { createPathBoundary } from '../../src/features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../../src/features/tenant-boundary/upgrade-places.ts';
import { createAccessReviewer } from '../../src/kubernetes/access-reviewer.ts';
import type { UpstreamRequest } from '../../src/kubernetes/upstream-ports.ts';
import type { HeaderList } from '../../src/lib/header-list.ts';
import { serveRequest } from '../../src/proxy/serve-request.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { upgradeFields } from '../../src/upstream/header-rules.ts';
import { readAsArktos } from '../support/arktos-reading.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { fakeExchange } from '../support/fake-exchange.ts';
import { fakePipeline } from '../support/fake-pipeline.ts';
import { upstreamIdentity } from '../support/identities.ts';
import { fakeFetcher } from '../support/outgoing.ts';
import { method, requestTarget } from '../support/request-lines.ts';

const TOKEN = 'their-token';
const ROBOT = upstreamIdentity('system:serviceaccount:default:robot');
const mode = createArktosMode({ systemTenant: 'system', domains: {} });

type Asked = Pick<UpstreamRequest, 'sender' | 'target' | 'headers'>;

/** All requests that would be sent with the client's token. */
async function sentWithToken(exchange: Parameters<typeof serveRequest>[0]): Promise<Asked[]> {
  const fetcher = fakeFetcher(() => ({ status: 403, body: {} }));
  const reviewer = createAccessReviewer({ fetcher, path: accessReviewPath });
  const clock = createFakeClock();
  const limits = { bodyBytes: 1 << 16, bodyTimeout: 1 };
  const pipeline = fakePipeline({
    clock,
    mode,
    authenticators: [{ name: 'token-review', authenticate: async () => ROBOT }],
    authorizers: [
      createUpgradePlaces(mode),
      createPathBoundary({ isSystem: mode.isSystem }),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant }),
    ],
    handlers: { 'self-review': createSelfReviewHandler({ fetcher, reviewer, mode, clock, limits }) },
  });
  await serveRequest(exchange, pipeline);
  const all: Asked[] = [...pipeline.sent, ...pipeline.tunnelled, ...fetcher.asked];
  return all.filter(({ sender }) => sender.kind === 'client');
}

function staysInTenant({ target }: Asked): boolean {
  const [path = ''] = target.split('?', 1);
  const reading = readAsArktos(path);
  return reading !== undefined && reading.tenant === 'acme' && reading.resource !== '';
}

function saysOneIdentity({ sender, headers }: Asked): boolean {
  const sent = upgradeFields(headers, sender.kind === 'client' ? sender.token : undefined);
  const names = sent.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase().replaceAll('_', '-'));
  const others = names.filter((name) => /^(?:impersonate|x-remote|x-auth|x-user)/.test(name));
  const authorization = names.filter((name) => name === 'authorization');
  return others.length === 0 && authorization.length === 1 && sent.at(-1) === `Bearer ${TOKEN}`;
}

const headers: fc.Arbitrary<HeaderList> = fc.array(
  fc.tuple(
    fc.constantFrom(
      'X-Remote-User',
      'x_remote_group',
      'X-Auth-Token',
      'X_User_Id',
      'Connection',
      'Accept',
      'Sec-WebSocket-Protocol',
    ),
    fc.constantFrom('admin', 'authorization', 'keep-alive, audit-id', 'v4.channel.k8s.io'),
  ),
  { maxLength: 4 },
);
const upgrade = fc.constantFrom(undefined, 'websocket', 'spdy/3.1');

t.test(
  'a request with the client’s own token never leaves its tenant or carries another identity',
  async (t) => {
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(method, requestTarget, headers, upgrade, async (verb, target, fields, protocol) => {
        const asked = await sentWithToken(
          fakeExchange({
            method: verb,
            target,
            headers: [
              ...fields.filter(([name]) => name !== 'X-Auth-Token'),
              ['Authorization', `Bearer ${TOKEN}`],
            ],
            body: '{"spec":{}}',
            ...(protocol && { upgrade: { protocol, socket: new Duplex(), head: Buffer.alloc(0) } }),
          }),
        );
        sent += asked.length;
        return asked.every((request) => staysInTenant(request) && saysOneIdentity(request));
      }),
      { numRuns: 5_000 },
    );
    t.ok(sent > 200, `enough requests were sent: ${sent}`);
  },
);
