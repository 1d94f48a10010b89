import t from 'tap';
import { StatusError, unauthorized } from '../../../src/errors/status-error.ts';
import { headerValue, headerValues } from '../../../src/lib/header-list.ts';
import { createBodySizeAdmission } from '../../../src/proxy/admission.ts';
import { serveRequest } from '../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { alice, fakePipeline, openMode } from '../../support/fake-pipeline.ts';

const bearer = [['Authorization', 'Bearer secret-token']] as const;

t.test(
  'C001 C254 a request without a credential is a 401 with the reason Unauthorized, and is not sent upstream',
  async (t) => {
    const pipeline = fakePipeline();
    const exchange = fakeExchange();
    await serveRequest(exchange, pipeline);
    t.equal(exchange.response.status, 401);
    t.match(exchange.response.json(), {
      kind: 'Status',
      reason: 'Unauthorized',
      message: 'Unauthorized',
      code: 401,
    });
    t.ok(headerValue(exchange.response.headers, 'www-authenticate'));
    t.same(pipeline.sent, []);
  },
);

t.test('C003 a credential that no authenticator accepts is a 401', async (t) => {
  const pipeline = fakePipeline({ authenticators: [{ name: 'none', authenticate: async () => undefined }] });
  const exchange = fakeExchange({ headers: bearer });
  await serveRequest(exchange, pipeline);
  t.equal(exchange.response.status, 401);
  t.same(pipeline.sent, []);
});

t.test('C004 C005 an authenticator that throws ends the chain, and the next one is not asked', async (t) => {
  let asked = false;
  const pipeline = fakePipeline({
    authenticators: [
      {
        name: 'bad',
        authenticate: async () => {
          throw unauthorized('expired');
        },
      },
      {
        name: 'next',
        authenticate: async () => {
          asked = true;
          return alice;
        },
      },
    ],
  });
  const exchange = fakeExchange({ headers: bearer });
  await serveRequest(exchange, pipeline);
  t.equal(exchange.response.status, 401);
  t.notOk(asked);
  t.notMatch(exchange.response.text, /expired/, 'the response does not say why it failed');
});

t.test('C006 an impersonation header without a credential is still only a 401', async (t) => {
  const exchange = fakeExchange({ headers: [['Impersonate-User', 'a-user']] });
  await serveRequest(exchange, fakePipeline());
  t.equal(exchange.response.status, 401);
});

t.test('a refusal shows its code and audit ID, and the Audit-Id header says the same', async (t) => {
  const exchange = fakeExchange({ target: '/a//b', headers: bearer });
  await serveRequest(exchange, fakePipeline());
  const auditID = headerValue(exchange.response.headers, 'audit-id');
  t.match(exchange.response.json(), {
    code: 400,
    details: {
      causes: [
        { reason: 'StonegateCode', message: 'RequestMalformed' },
        { reason: 'AuditID', message: auditID },
      ],
    },
  });
});

t.test('the API server receives Stonegate’s audit ID, not that of the client', async (t) => {
  const pipeline = fakePipeline();
  await serveRequest(fakeExchange({ headers: [...bearer, ['Audit-ID', 'forged']] }), pipeline);
  t.same(headerValues(pipeline.sent[0]?.headers ?? [], 'audit-id'), [pipeline.events[0]?.record.auditID]);
});

t.test(
  'C035 a request is audited when its user is known and when it is complete, both times with the user',
  async (t) => {
    const pipeline = fakePipeline();
    await serveRequest(fakeExchange({ headers: bearer }), pipeline);
    t.same(
      pipeline.events.map(({ stage, record }) => [stage, record.user?.username]),
      [
        ['received', 'acme:alice'],
        ['complete', 'acme:alice'],
      ],
    );
  },
);

t.test('C056 a watch is also audited when its response begins', async (t) => {
  const pipeline = fakePipeline();
  await serveRequest(fakeExchange({ headers: bearer, target: '/api/v1/pods?watch=1' }), pipeline);
  t.same(
    pipeline.events.map(({ stage }) => stage),
    ['received', 'started', 'complete'],
  );
  t.match(pipeline.sent[0], { longRunning: true, endless: true });
});

t.test('a proxied request to a service has no time limit, but is not endless', async (t) => {
  const pipeline = fakePipeline();
  await serveRequest(
    fakeExchange({ headers: bearer, target: '/api/v1/namespaces/n/services/s/proxy/report' }),
    pipeline,
  );
  t.match(pipeline.sent[0], { longRunning: true, endless: false });
});

t.test('C190 an Upgrade header never skips authentication', async (t) => {
  const pipeline = fakePipeline();
  const exchange = fakeExchange({ method: 'POST', headers: [['Upgrade', 'websocket']] });
  await serveRequest(exchange, pipeline);
  t.equal(exchange.response.status, 401);
  t.same(pipeline.tunnelled, []);
});

t.test('C142 if an authorizer fails, the request is refused and not forwarded', async (t) => {
  const fails = async () => {
    throw new Error('the reviewer is broken');
  };
  const pipeline = fakePipeline({ authorizers: [{ name: 'broken', authorize: fails }] });
  const exchange = fakeExchange({ headers: bearer });
  await serveRequest(exchange, pipeline);
  t.equal(exchange.response.status, 500);
  t.same(pipeline.sent, []);
  t.notMatch(exchange.response.text, /broken/, 'an unknown error shows no detail');
});

t.test(
  'C135 if the upstream breaks off after its head, the response is aborted without a second status line',
  async (t) => {
    const pipeline = fakePipeline({
      forwarder: {
        async forward(_request, { response }) {
          response.writeHead(200, []);
          throw new StatusError('UpstreamUnavailable', 'gone');
        },
      },
    });
    const exchange = fakeExchange({ headers: bearer });
    await serveRequest(exchange, pipeline);
    t.equal(exchange.response.status, 200);
    t.ok(exchange.response.destroyed);
    t.match(pipeline.events.at(-1)?.record.outcome, { aborted: true });
  },
);

t.test('C067 nothing is written to a client that disconnected before the response', async (t) => {
  const exchange = fakeExchange({ headers: bearer });
  const pipeline = fakePipeline({
    authenticators: [
      {
        name: 'slow',
        authenticate: async () => {
          exchange.leave();
          throw unauthorized('too late');
        },
      },
    ],
  });
  await serveRequest(exchange, pipeline);
  t.equal(exchange.response.status, 0);
  t.match(pipeline.events.at(-1)?.record.outcome, { status: 0, aborted: true });
});

t.test('a body declared larger than allowed is refused before it is read', async (t) => {
  const pipeline = fakePipeline({ admission: [createBodySizeAdmission(10)] });
  const exchange = fakeExchange({
    method: 'POST',
    headers: [...bearer, ['Content-Length', '11']],
    body: 'x'.repeat(11),
  });
  await serveRequest(exchange, pipeline);
  t.match(exchange.response.json(), { code: 413, reason: 'RequestEntityTooLarge' });
  const fits = fakeExchange({ method: 'POST', headers: [...bearer, ['Content-Length', '10']] });
  await serveRequest(fits, pipeline);
  t.equal(fits.response.status, 200);
});

t.test('a route without a handler is not forwarded', async (t) => {
  const pipeline = fakePipeline({
    mode: { ...openMode, route: () => ({ kind: 'discovery', path: '/api', query: '', reduce: 'none' }) },
  });
  const exchange = fakeExchange({ headers: bearer });
  await serveRequest(exchange, pipeline);
  t.match(exchange.response.json(), { code: 500 });
  t.same(pipeline.sent, []);
});

t.test('C181 the user agent of a health checker grants no access', async (t) => {
  const exchange = fakeExchange({ headers: [['User-Agent', 'kube-probe/1.32']], target: '/healthz' });
  await serveRequest(exchange, fakePipeline());
  t.equal(exchange.response.status, 401);
});

t.test('C010 an empty X-Forwarded-For header causes no error', async (t) => {
  const exchange = fakeExchange({ headers: [...bearer, ['X-Forwarded-For', '']] });
  await serveRequest(exchange, fakePipeline());
  t.equal(exchange.response.status, 200);
});

t.test('a project is provisioned before the API server authorizes a request of its users', async (t) => {
  const order: string[] = [];
  const pipeline = fakePipeline({
    provisioner: {
      async ensure({ uid }) {
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`made for ${uid}`);
      },
    },
    authorizers: [
      {
        name: 'noting',
        async authorize() {
          order.push('authorized');
        },
      },
    ],
  });
  await serveRequest(fakeExchange({ headers: bearer }), pipeline);
  t.same(order, ['made for u1', 'authorized']);
  await serveRequest(fakeExchange(), pipeline);
  t.equal(order.length, 2, 'nothing is provisioned for an unknown user');
});

t.test('after the API server refuses Stonegate’s rights, they are checked again', async (t) => {
  let refusals = 0;
  const pipeline = fakePipeline({
    upstreamRights: { withheld: new Set(), constrained: false, refused: () => (refusals += 1) },
    forwarder: {
      forward: () => Promise.reject(new StatusError('UpstreamRefusedCredential', 'no right to impersonate')),
    },
  });
  await serveRequest(fakeExchange({ headers: bearer }), pipeline);
  t.equal(refusals, 1);
});

t.test(
  'an extra key that Stonegate may not impersonate is omitted everywhere; other keys stay',
  async (t) => {
    const user = {
      username: 'acme:alice',
      uid: '',
      groups: [],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=1'], team: ['a'] },
    };
    const pipeline = fakePipeline({
      mode: { ...openMode, userOf: () => user },
      upstreamRights: {
        withheld: new Set(['authentication.kubernetes.io/credential-id']),
        constrained: false,
        refused() {},
      },
    });
    await serveRequest(fakeExchange({ headers: bearer }), pipeline);
    const names = pipeline.sent[0]?.headers.map(([name]) => name).filter((name) => /extra/i.test(name));
    t.same(names, ['Impersonate-Extra-team']);
    t.same(pipeline.events.at(-1)?.record.user?.extra, { team: ['a'] });
  },
);
