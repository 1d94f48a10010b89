import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type LoadedStonegate, loadStonegate } from '../../../src/app/configuration.ts';
import { createReloader } from '../../../src/config/reload.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { recordedTelemetry } from '../../support/recorded-telemetry.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const authority = await createAuthority();
const [first, second] = [await authority.server('first'), await authority.server('second')];

const CONFIGURATION = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: secret/tls.crt, keyFile: secret/tls.key } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: token } }
tenancy: { mode: arktos }
authentication: { keystone: { url: "https://keystone:5000/v3" } }
`;

/** One timer at a time; `tick` runs it and waits until the next one is set. */
function handClock() {
  let action: (() => void) | undefined;
  let armed = (): void => undefined;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(_milliseconds, next) {
      action = next;
      armed();
      return { cancel: () => (action = undefined) };
    },
  };
  const tick = async () => {
    const next = new Promise<void>((resolve) => {
      armed = resolve;
    });
    const run = action;
    action = undefined;
    run?.();
    await next;
  };
  return { clock, tick, armed: () => action !== undefined };
}

async function start(t: Test) {
  const secret = { 'tls.crt': first.cert, 'tls.key': first.key };
  const folder = t.testdir({ 'stonegate.yaml': CONFIGURATION, token: 'abc', secret });
  const file = join(folder, 'stonegate.yaml');
  const sources = { readFile: (name: string) => readFile(name), env: {} };
  const { watched } = await loadStonegate(file, sources);
  const applied: LoadedStonegate[] = [];
  const errors: string[] = [];
  const results: string[] = [];
  const state: { failure: Error | undefined } = { failure: undefined };
  const hand = handClock();
  const reloader = createReloader({
    load: loadStonegate,
    file,
    sources,
    watched,
    apply(loaded) {
      if (state.failure) throw state.failure;
      applied.push(loaded);
    },
    clock: hand.clock,
    logger: {
      debug() {},
      info() {},
      warn() {},
      error: (fields, message) => errors.push(typeof fields.problem === 'string' ? fields.problem : message),
    },
    telemetry: recordedTelemetry(results),
  });
  t.teardown(() => reloader.close());
  const certificate = () => applied.at(-1)?.file(join(folder, 'secret/tls.crt')).toString();
  return { ...hand, folder, file, reloader, applied, errors, results, certificate, state };
}

const NOT_USED = 'the new configuration is not used; the last valid one stays in force';

t.test(
  'C234 after an invalid file, the last valid configuration stays in force, and the problems are logged once',
  async (t) => {
    const { tick, file, applied, errors, results } = await start(t);
    writeFileSync(file, CONFIGURATION.replace('arktos', 'bogus'));
    await tick();
    await tick();
    t.equal(applied.length, 0);
    t.same(errors, ['tenancy.mode (line 5): expected "arktos" or "shared", found "bogus"', NOT_USED]);
    t.same(results, ['error']);
    writeFileSync(file, CONFIGURATION.replace('arktos', 'shared'));
    await tick();
    t.equal(applied[0]?.configuration.tenancy.mode, 'shared');
    t.same(results, ['error', 'ok']);
  },
);

t.test('a certificate is used once its key has arrived', async (t) => {
  const { tick, folder, applied, certificate, errors } = await start(t);
  writeFileSync(join(folder, 'secret/tls.crt'), second.cert);
  await tick();
  t.equal(applied.length, 0);
  t.match(errors[0], /^server\.tls\.keyFile .*found another's$/);
  writeFileSync(join(folder, 'secret/tls.key'), second.key);
  await tick();
  t.equal(certificate(), second.cert);
});

t.test(
  'on SIGHUP the configuration is loaded even if unchanged; concurrent calls share a load',
  async (t) => {
    const { reloader, applied } = await start(t);
    await Promise.all([reloader.reload(), reloader.reload(), reloader.reload()]);
    t.equal(applied.length, 2, 'the load in progress, and one more for all calls during it');
  },
);

t.test('a configuration that cannot be applied is logged, and watching continues', async (t) => {
  const { tick, folder, applied, errors, results, state } = await start(t);
  state.failure = new Error('no such address');
  writeFileSync(join(folder, 'token'), 'def');
  await tick();
  t.same(errors, [NOT_USED]);
  t.same(results, ['error']);
  state.failure = undefined;
  writeFileSync(join(folder, 'token'), 'ghi');
  await tick();
  t.equal(applied.length, 1);
});

t.test('after it is closed, a reloader applies nothing, not even a load in progress', async (t) => {
  const { reloader, applied, armed, errors } = await start(t);
  const loading = reloader.reload();
  t.ok(armed());
  reloader.close();
  t.notOk(armed(), 'no timer is left');
  await loading;
  await reloader.reload();
  t.same([applied, errors], [[], []]);
});
