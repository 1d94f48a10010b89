import { createServer, type RequestListener } from 'node:http';
import t, { type Test } from 'tap';
import type { KeystoneServiceCredential } from '../../../../src/config/core-configuration.ts';
import type { Logger } from '../../../../src/lib/logger.ts';
import { noTelemetry, type Telemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { bridgeWith, keystoneClient, SERVICE_PROJECT } from '../../../support/keystone/client.ts';
import type { Fault } from '../../../support/keystone/faults.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const TIMEOUT = 2_000;
const BRIDGE = bridgeWith(SERVICE_PROJECT);

interface SceneOptions {
  readonly credential?: KeystoneServiceCredential;
  readonly secret?: string;
}

/** A stand-in Keystone with alice, a service user, and a client of it. */
async function createScene(t: Test, options: SceneOptions = {}) {
  const clock = createFakeClock(Date.parse('2026-11-21T01:00:00Z'));
  const keystone = await createKeystoneStandIn({ now: clock.now });
  const { directory } = keystone;
  const web = { project: directory.project('acme', 'web') };
  const service = { project: directory.project('Default', 'service') };
  const alice = directory.user('acme', 'alice');
  const bridge = directory.user('Default', 'bridge');
  directory.assign(alice, 'member', web);
  directory.assign(bridge, 'service', service);
  const logged: string[] = [];
  const log = (level: string) => (fields: object, message: string) => {
    const chain = 'error' in fields && fields.error instanceof Error ? chainOf(fields.error) : '';
    logged.push(`${level}: ${message} ${JSON.stringify(fields)} ${chain}`);
  };
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const counted: string[] = [];
  const telemetry: Telemetry = {
    ...noTelemetry,
    backendCall: (backend, result) => counted.push(`${backend} ${result}`),
  };
  t.teardown(() => keystone.close());
  const client = keystoneClient(t, {
    url: keystone.url,
    ...options,
    timeout: TIMEOUT,
    clock,
    logger,
    telemetry,
  });
  const token = keystone.issue(alice, web);
  const count = (method: string) => keystone.calls.filter((call) => call.startsWith(method)).length;
  return { clock, keystone, directory, web, service, alice, bridge, logged, counted, client, token, count };
}

/** A client of a server whose responses the test determines. */
async function clientOf(t: Test, listener: RequestListener, credential?: KeystoneServiceCredential) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  t.teardown(() => server.close());
  return keystoneClient(t, {
    url: `http://127.0.0.1:${port}/v3`,
    ...(credential && { credential }),
    clock: createFakeClock(Date.parse('2026-11-21T01:00:00Z')),
  });
}

/** All text of an error that a log could contain. */
function chainOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return `${error.stack} ${error.message} ${'cause' in error ? chainOf(error.cause) : ''}`;
}

async function untilHanging(keystone: { readonly hanging: number }) {
  while (keystone.hanging === 0) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits for background exchanges: each has a deadline set. */
async function untilIdle(clock: { readonly pending: number }) {
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve));
}

const unavailable = { code: 'KeystoneUnavailable', http: 503 };

t.test('many concurrent first requests cause one login', async (t) => {
  const { client, token, count } = await createScene(t, { credential: BRIDGE });
  await Promise.all(Array.from({ length: 50 }, () => client.validate(token)));
  t.equal(count('POST'), 1);
});

t.test('the login is renewed before it expires, and no request waits for it', async (t) => {
  const { client, keystone, alice, web, clock, count } = await createScene(t, { credential: BRIDGE });
  const longLived = keystone.issue(alice, web, { life: 24 * 3_600_000 });
  await client.validate(longLived);
  clock.advance(56 * 60_000);
  await client.validate(longLived);
  await untilIdle(clock);
  clock.advance(3 * 60_000);
  await client.validate(longLived);
  t.equal(count('POST'), 2);
  clock.advance(20 * 60_000);
  t.match(await client.validate(longLived), { user: { name: 'alice' } }, 'beyond the end of the first login');
  t.equal(count('POST'), 2);
});

t.test('a login that cannot be renewed is used until it expires', async (t) => {
  const { client, token, bridge, clock, count, logged } = await createScene(t, { credential: BRIDGE });
  await client.validate(token);
  bridge.password = 'changed';
  clock.advance(56 * 60_000);
  t.match(await client.validate(token), { user: { name: 'alice' } });
  t.match(await client.validate(token), { user: { name: 'alice' } });
  await untilIdle(clock);
  t.equal(count('POST'), 2, 'the renewal is not retried for each request');
  t.match(logged.join('\n'), "error: Keystone refuses Stonegate's own credential");
});

t.test('a 401 on Stonegate’s own token causes one new login and one more validation', async (t) => {
  const { client, token, keystone, directory, bridge, service, count } = await createScene(t, {
    credential: BRIDGE,
  });
  await client.validate(token);
  directory.unassign(bridge, 'service', service);
  await t.rejects(client.validate(token), unavailable);
  directory.assign(bridge, 'service', service);
  t.equal(count('POST'), 2, 'the second login was refused');
  keystone.calls.length = 0;
  await t.rejects(client.validate(token), unavailable, 'a refused login is not repeated at once');
  t.equal(count('POST'), 0);
});

t.test(
  'if Keystone also refuses Stonegate’s new login, the response is 503 and an error is logged',
  async (t) => {
    const { client, token, keystone, bridge, logged } = await createScene(t, { credential: BRIDGE });
    const issued = keystone.calls;
    keystone.calls.push = (...calls) => {
      keystone.revokeAllOf(bridge);
      return Array.prototype.push.apply(issued, calls);
    };
    await t.rejects(client.validate(token), unavailable);
    t.match(logged.join('\n'), "error: Keystone does not take Stonegate's own new login");
    t.strictSame(keystone.calls.length, 4, 'two logins, two validations');
  },
);

t.test('Keystone’s certificate is checked against the configured authority', async (t) => {
  const authority = await createAuthority();
  const keystone = await createKeystoneStandIn({ tls: await authority.server('127.0.0.1') });
  t.teardown(() => keystone.close());
  const { url } = keystone;
  const trusting = keystoneClient(t, { url, ca: authority.cert });
  const strange = keystoneClient(t, { url, ca: (await createAuthority('another CA')).cert });
  await t.resolves(trusting.probe());
  await t.rejects(strange.probe(), unavailable);
});

t.test('a 404 counts only once Stonegate’s own token has proved valid', async (t) => {
  const { client, keystone } = await createScene(t, { credential: BRIDGE });
  t.equal(await client.validate('gAAAAABnobodys'), undefined);
  t.strictSame(keystone.calls, ['POST /v3/auth/tokens', 'GET /v3/auth/tokens', 'GET /v3/auth/tokens']);
});

t.test('a flood of invalid tokens does not cause a flood of checks of Stonegate’s own token', async (t) => {
  const { client, count } = await createScene(t, { credential: BRIDGE });
  const bad = Array.from({ length: 100 }, (_, index) => client.validate(`gAAAAAB${index}`));
  t.same(new Set(await Promise.all(bad)), new Set([undefined]));
  t.ok(count('GET') < 150, `${count('GET')} questions`);
});

t.test(
  'a missing role of Stonegate’s user is logged once, and again after it was granted and removed',
  async (t) => {
    const { client, token, directory, bridge, service, logged, counted } = await createScene(t, {
      credential: BRIDGE,
    });
    directory.assign(bridge, 'reader', service);
    const told = () => logged.filter((line) => line.includes('does not let Stonegate')).length;
    const refused = async () => {
      directory.unassign(bridge, 'service', service);
      for (const _ of [1, 2, 3]) await t.rejects(client.validate(token), unavailable);
    };
    await refused();
    t.equal(told(), 1);
    t.equal(counted.at(-1), 'keystone refused');
    directory.assign(bridge, 'service', service);
    await client.validate(token);
    await refused();
    t.equal(told(), 2);
  },
);

const FAULTS: readonly Exclude<Fault, 'hang'>[] = [
  'reset',
  'half-body',
  'html',
  'garbage',
  'wrong-shape',
  'other-token',
  'endless',
  'redirect',
  'error',
  'front-end-404',
];
t.test('an incomplete login response is a failed login', async (t) => {
  const token = { 'X-Subject-Token': 'gAAAAABours' };
  const later = { token: { expires_at: '2036-11-21T01:00:00Z' } };
  const answers: Record<string, [status: number, headers: Record<string, string>, body: object]> = {
    'of another status': [200, token, later],
    'with a malformed token': [201, { 'X-Subject-Token': 'a token' }, later],
    'without an expiry': [201, token, { token: {} }],
    'that has already expired': [201, token, { token: { expires_at: '2026-11-21T01:00:00Z' } }],
  };
  for (const [kind, [status, headers, body]] of Object.entries(answers)) {
    let asked = 0;
    const client = await clientOf(
      t,
      (_request, response) => {
        asked += 1;
        response.writeHead(status, headers).end(JSON.stringify(body));
      },
      BRIDGE,
    );
    await t.rejects(client.validate('gAAAAABsomebodys'), unavailable, kind);
    t.equal(asked, 1, 'no request is sent with it');
  }
});

t.test('a Keystone that takes too long is a 503 at the deadline', async (t) => {
  const { client, keystone, token, clock, counted } = await createScene(t);
  keystone.fault = 'hang';
  const answer = client.validate(token);
  await untilHanging(keystone);
  clock.advance(TIMEOUT);
  await t.rejects(answer, unavailable);
  t.strictSame(counted, ['keystone timeout']);
  keystone.release();
});

t.test('a request on an idle connection that Keystone closes at the same moment is sent again', async (t) => {
  let asked = 0;
  const client = await clientOf(t, (request, response) => {
    asked += 1;
    if (asked === 1) request.socket.destroy();
    else response.setHeader('content-type', 'application/json').end('{"version":{"id":"v3.14"}}');
  });
  await t.resolves(client.probe());
  t.equal(asked, 2);
});

t.test('each fault is a 503 while it lasts, and no secret or text of Keystone reaches a log', async (t) => {
  const secrets = ['bridge-pass', 'guest network', 'unexpected error', 'validate_token', 'somebodyelses'];
  const told: string[] = [];
  for (const fault of [undefined, ...FAULTS]) {
    const scene = await createScene(t, { credential: BRIDGE });
    const { client, keystone, token, logged, bridge, directory, service, clock } = scene;
    await client.validate(token);
    if (fault === undefined) {
      directory.assign(bridge, 'reader', service);
      directory.unassign(bridge, 'service', service);
    }
    keystone.fault = fault;
    secrets.push(token);
    await client.validate(token).then(
      () => t.fail('it should have been refused'),
      (error: unknown) => {
        t.match(error, unavailable, String(fault));
        told.push(chainOf(error));
      },
    );
    told.push(...logged);
    if (fault === undefined) continue;
    keystone.fault = undefined;
    t.match(await client.validate(token), { user: { name: 'alice' } });
    t.equal(clock.pending, 0, 'no timer is left');
  }
  for (const secret of secrets) t.notOk(told.join('\n').includes(secret), secret.slice(0, 12));
});

t.test('a response that is not UTF-8 is a 503, since two names could become one', async (t) => {
  const client = await clientOf(t, (_request, response) => {
    response.end(Buffer.from('{"version":{"id":"\xff"}}', 'latin1'));
  });
  await t.rejects(client.probe(), unavailable);
});

t.test('the probe reports whether Keystone responds and accepts Stonegate’s login', async (t) => {
  const { client, keystone } = await createScene(t, { credential: BRIDGE });
  await t.resolves(client.probe());
  keystone.fault = 'html';
  await t.rejects(client.probe(), unavailable);
  const refused = await createScene(t, { credential: BRIDGE, secret: 'wrong' });
  await t.rejects(refused.client.probe(), unavailable);
  const alone = await createScene(t);
  await t.resolves(alone.client.probe());
  t.strictSame(alone.keystone.calls, ['GET /v3']);
});
