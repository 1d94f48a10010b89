import { once } from 'node:events';
import t, { type Test } from 'tap';
import {
  DiscoveredIssuerKeys,
  type IssuerKeysOptions,
  parseKeySet,
} from '../../../../src/identity/oidc/oidc-issuer-keys.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry, type Telemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { startSigningIssuer } from '../../../support/oidc/signing-issuer.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const MAX_AGE = 3_600_000;
const INTERVAL = 10_000;

async function scene(t: Test, changes: Partial<IssuerKeysOptions> = {}) {
  const issuer = await startSigningIssuer();
  const clock = createFakeClock();
  const results: string[] = [];
  const ends = new EventTarget();
  const telemetry: Telemetry = {
    ...noTelemetry,
    backendCall(backend, result) {
      results.push(`${backend} ${result}`);
      ends.dispatchEvent(new Event('end'));
    },
  };
  const keys = new DiscoveredIssuerKeys({
    ownKeys: true,
    url: issuer.url,
    maxAge: MAX_AGE,
    refreshInterval: INTERVAL,
    timeout: 5_000,
    clock,
    random: { bytes: Buffer.alloc, uuid: () => '', fraction: () => 0 },
    logger: silentLogger,
    telemetry,
    ...changes,
  });
  t.teardown(async () => {
    await keys.close();
    await issuer.down();
  });
  return {
    issuer,
    keys,
    clock,
    results,
    /** Resolves when the next fetch has ended. */
    async fetched() {
      await once(ends, 'end');
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

async function started(t: Test, changes: Partial<IssuerKeysOptions> = {}) {
  const made = await scene(t, changes);
  const fetched = made.fetched();
  made.keys.start();
  await fetched;
  return made;
}

async function unavailable(t: Test, keys: DiscoveredIssuerKeys, kid?: string) {
  await t.rejects(keys.keys(kid), { code: 'IssuerUnavailable', http: 503 });
}

async function kidsOf(keys: DiscoveredIssuerKeys, kid?: string) {
  return (await keys.keys(kid)).keys.map((key) => key.kid);
}

t.test(
  'C031 an issuer that is unreachable at startup is not ready, and its tokens are answered with 503',
  async (t) => {
    const { issuer, keys } = await scene(t);
    await issuer.down();
    await unavailable(t, keys, 'key-1');
    t.match(keys.notReadyBecause(), /ECONNREFUSED/);
  },
);

t.test('an issuer that is down at startup is retried with growing pauses until it responds', async (t) => {
  const made = await scene(t);
  await made.issuer.down();
  for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]) {
    const fetched = made.fetched();
    if (made.results.length === 0) made.keys.start();
    else made.clock.advance(made.clock.untilNext);
    await fetched;
    t.equal(made.clock.untilNext, wait);
  }
  await made.issuer.up();
  const fetched = made.fetched();
  made.clock.advance(60_000);
  await fetched;
  t.equal(made.keys.notReadyBecause(), undefined);
  t.equal(made.clock.untilNext, MAX_AGE);
});

t.test('C032 an issuer that goes down later stays ready, and its known keys stay valid', async (t) => {
  const made = await started(t);
  await made.issuer.down();
  for (let round = 0; round < 3; round += 1) {
    const fetched = made.fetched();
    made.clock.advance(MAX_AGE);
    await fetched;
    t.same(await kidsOf(made.keys, 'key-1'), ['key-1']);
    await unavailable(t, made.keys, 'key-2');
  }
  t.equal(made.keys.notReadyBecause(), undefined);
});

t.test('old keys are fetched again in the background, and withdrawn ones are removed', async (t) => {
  const made = await started(t);
  await made.issuer.rotate();
  t.same(await kidsOf(made.keys, 'key-1'), ['key-1'], 'not yet');
  const fetched = made.fetched();
  made.clock.advance(MAX_AGE);
  await fetched;
  t.same(await kidsOf(made.keys, 'key-2'), ['key-2']);
});

t.test('a second new key right after the first is accepted at once too', async (t) => {
  const { issuer, keys } = await started(t);
  await issuer.rotate();
  t.same(await kidsOf(keys, 'key-2'), ['key-2']);
  await issuer.rotate();
  t.same(await kidsOf(keys, 'key-3'), ['key-3']);
});

t.test('a key published while an older response is still in flight is accepted at once', async (t) => {
  const made = await started(t);
  const stale = JSON.stringify({ keys: made.issuer.keys });
  const asked = new Promise<() => void>((resolve) => {
    made.issuer.faults.keys = (response) => resolve(() => response.end(stale));
  });
  made.clock.advance(MAX_AGE);
  const answer = await asked;
  await made.issuer.rotate();
  delete made.issuer.faults.keys;
  const found = Promise.all([kidsOf(made.keys, 'key-2'), kidsOf(made.keys, 'key-2')]);
  answer();
  t.same(await found, [['key-2'], ['key-2']]);
  t.equal(made.issuer.requests.keys, 3);
});

t.test('a flood of unknown keys causes one fetch per interval', async (t) => {
  const { issuer, keys, clock } = await started(t);
  await Promise.all(Array.from({ length: 50 }, (_, index) => keys.keys(`unknown-${index}`)));
  for (let index = 0; index < 50; index += 1) await keys.keys(`later-${index}`);
  t.equal(issuer.requests.keys, 2);
  clock.advance(INTERVAL);
  await keys.keys('unknown-again');
  await keys.keys('unknown-again');
  t.equal(issuer.requests.keys, 3);
});

t.test('unchanged keys are the same object, so that cached verifications stay valid', async (t) => {
  const made = await started(t);
  const before = await made.keys.keys('key-1');
  const fetched = made.fetched();
  made.clock.advance(MAX_AGE);
  await fetched;
  t.equal(await made.keys.keys('key-1'), before);
});

t.test('an issuer that withdraws all its keys has its tokens refused with 503', async (t) => {
  const made = await started(t);
  made.issuer.publish({ keys: [] });
  const fetched = made.fetched();
  made.clock.advance(MAX_AGE);
  await fetched;
  await unavailable(t, made.keys, 'key-1');
  await unavailable(t, made.keys);
});

t.test('a malformed key set, or one of more than 64 keys, leaves the last valid one in use', async (t) => {
  const made = await started(t);
  const many = made.issuer.keys.flatMap((key) =>
    Array.from({ length: 65 }, (_, at) => ({ ...key, kid: `${at}` })),
  );
  const garbage = ['<html>login</html>', '{"keys":7}', JSON.stringify({ keys: many })];
  for (const body of garbage) {
    made.issuer.faults.keys = (response) => void response.end(body);
    const fetched = made.fetched();
    made.clock.advance(MAX_AGE);
    await fetched;
    t.same(await kidsOf(made.keys, 'key-1'), ['key-1']);
  }
  t.same(made.results, ['issuer ok', ...garbage.map(() => 'issuer error')]);
});

t.test('an issuer that does not respond in time counts as down', async (t) => {
  const made = await scene(t);
  const asked = new Promise<void>((resolve) => {
    made.issuer.faults.keys = () => resolve();
  });
  made.keys.start();
  await asked;
  const answer = unavailable(t, made.keys, 'key-1');
  made.clock.advance(5_000);
  await answer;
  t.same(made.results, ['issuer timeout']);
  t.match(made.keys.notReadyBecause(), /did not answer within 5000 ms/);
});

t.test('a response that never ends is cancelled', async (t) => {
  const { issuer, keys } = await scene(t);
  issuer.faults.keys = (response) => {
    response.on('error', () => response.destroy());
    const pour = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      response.once('drain', pour);
    };
    pour();
  };
  await unavailable(t, keys);
  t.match(keys.notReadyBecause(), /larger than/);
});

t.test('an address without a discovery document is named, with what it answered', async (t) => {
  const { issuer, keys } = await scene(t);
  issuer.faults.discovery = (response) => void response.writeHead(404).end();
  await unavailable(t, keys);
  t.match(keys.notReadyBecause(), `${issuer.url}/.well-known/openid-configuration answered 404`);
});

t.test('a redirect is not followed', async (t) => {
  const { issuer, keys } = await scene(t);
  const redirect = { location: `${issuer.url}/keys` };
  issuer.faults.discovery = (response) => void response.writeHead(302, redirect).end();
  await unavailable(t, keys);
  delete issuer.faults.discovery;
  issuer.faults.keys = (response) => void response.writeHead(302, redirect).end();
  const other = await scene(t, { url: issuer.url });
  await unavailable(t, other.keys);
  t.match(other.keys.notReadyBecause(), /status 302/);
});

t.test('a discovery document that names another issuer is refused, however similar the names', async (t) => {
  for (const named of [`https://login.example.com`, 'upper', 'slash']) {
    const { issuer, keys } = await scene(t);
    const url = named === 'slash' ? `${issuer.url}/` : named === 'upper' ? issuer.url.toUpperCase() : named;
    issuer.publish({ discovery: { issuer: url } });
    await unavailable(t, keys);
  }
});

t.test('a discovery document from another address must name the issuer', async (t) => {
  const azure = await startSigningIssuer({ url: 'https://login.microsoftonline.com/0000-1111/v2.0' });
  t.teardown(() => azure.down());
  const { discoveryURL } = azure;
  const right = await started(t, { url: azure.url, discoveryURL });
  t.same(await kidsOf(right.keys, 'key-1'), ['key-1']);
  const wrong = await started(t, { url: 'https://login.microsoftonline.com/2222-3333/v2.0', discoveryURL });
  await unavailable(t, wrong.keys);
  t.match(wrong.keys.notReadyBecause(), /names the issuer "https:\/\/login.microsoftonline.com\/0000-1111/);
});

t.test('keys are not fetched over plain HTTP from another machine, nor with a password', async (t) => {
  for (const jwks_uri of [
    'http://login.example.com/keys',
    'https://user:pass@127.0.0.1/keys',
    'file:///etc/keys',
  ]) {
    const { issuer, keys } = await scene(t);
    issuer.publish({ discovery: { jwks_uri } });
    await unavailable(t, keys);
    t.match(keys.notReadyBecause(), /the address (must be https|holds a user)/);
    t.equal(issuer.requests.keys, 0);
  }
});

t.test('closing cancels pending fetches and leaves no timer', async (t) => {
  const made = await scene(t);
  const asked = new Promise<void>((resolve) => {
    made.issuer.faults.keys = () => resolve();
  });
  made.keys.start();
  await asked;
  await made.keys.close();
  t.equal(made.clock.pending, 0);
  await unavailable(t, made.keys);
  t.equal(made.clock.pending, 0);
});

t.test('an issuer with a CA of its own is trusted by that CA only', async (t) => {
  const authority = await createAuthority();
  const secure = await startSigningIssuer({ tls: await authority.server('issuer') });
  t.teardown(() => secure.down());
  const right = await started(t, { url: secure.url, ca: authority.cert });
  t.same(await kidsOf(right.keys, 'key-1'), ['key-1']);
  const otherAuthority = await createAuthority('another CA');
  for (const ca of [undefined, otherAuthority.cert]) {
    const wrong = await started(t, { url: secure.url, ca });
    await unavailable(t, wrong.keys, 'key-1');
    t.match(wrong.keys.notReadyBecause(), /certificate|self.signed/);
  }
});

const TENANT = 'https://login.microsoftonline.com/0000-1111/v2.0';
const KEY = { kty: 'RSA', kid: 'a', n: 'AQAB', e: 'AQAB' };

function parsedKids(keys: readonly unknown[], issuer = 'https://login.example.com') {
  return parseKeySet(JSON.stringify({ keys }), issuer).keys.map((key) => key.kid);
}

t.test('secrets, private keys and malformed keys are ignored', async (t) => {
  const others = [{ kty: 'oct', k: 'AA' }, { ...KEY, d: 'AA' }, null, { ...KEY, kid: 7 }];
  t.same(parsedKids(others), []);
});

t.test(
  'keys of Entra ID are used only if they are for any tenant or for the issuer’s own tenant',
  async (t) => {
    const keys = [
      { ...KEY, kid: 'any', issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' },
      { ...KEY, kid: 'own', issuer: TENANT },
      { ...KEY, kid: 'other', issuer: 'https://login.microsoftonline.com/9188040d/v2.0' },
      { ...KEY, kid: 'cloud', issuer: 'https://login.example.com/{tenantid}/v2.0' },
      { ...KEY, kid: 'twice', issuer: 'https://login.microsoftonline.com/{tenantid}/{tenantid}' },
      { ...KEY, kid: 'none' },
    ];
    t.same(parsedKids(keys, TENANT), ['any', 'own', 'none']);
    const below = 'https://login.microsoftonline.com/0000-1111/b/v2.0';
    t.same(parsedKids(keys, below), ['none'], 'the placeholder stands for one segment of the path');
  },
);
