/**
 * A rolling upgrade: the previous version and the current one share one Redis and one configuration. Each
 * reads what the other has stored, or ignores it; no user is taken for another one, and none has to sign in
 * again, unless the changelog says so because a stored form has changed.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { checkOutPrevious } from '../support/high-availability/previous-release.ts';
import { BRIDGE } from '../support/keystone/bridge.ts';
import { askOnce } from '../support/open-request.ts';
import { createPortalVisitor } from '../support/portal-visitor.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { MAIN, type StonegateProcess, serveStonegate } from '../support/stonegate-process.ts';
import { startTestbed, type Testbed } from '../support/testbed.ts';

const run = promisify(execFile);
const CONFIG_MAPS = '/api/v1/namespaces/acme/configmaps';

interface Version {
  readonly name: string;
  readonly main: string;
  readonly process: StonegateProcess;
}

async function setUp(t: Test) {
  const folder = t.testdir();
  const redis = await createRedisServer({ tcp: true });
  t.teardown(() => redis.remove());
  await writeFile(join(folder, 'redis-url'), redis.url);
  const portalPort = await freePort();
  const testbed = await startTestbed(t, { folder, mode: 'shared', portal: { port: portalPort } });
  await admitProvisioner(testbed, { mode: 'shared' });
  await testbed.configure(configuration(testbed));
  const previous = checkOutPrevious(t);
  const start = async (name: string, main: string) => {
    const process = await serveStonegate(testbed.configFile, main);
    t.teardown(() => process.stop());
    await eventually(async () => (await process.admin('/readyz')).status === 200);
    return { name, main, process };
  };
  const versions = [
    await start('the previous version', previous),
    await start('the current one', MAIN),
  ] as const;
  const { keystone, apiServer, authority } = testbed;
  return {
    ...testbed,
    versions,
    portalPort,
    ask: ({ process }: Version, token: string) =>
      askOnce({ port: process.port, ca: authority.cert }, token, CONFIG_MAPS),
    lastUser: () => apiServer.requests.findLast(({ url }) => url.startsWith(CONFIG_MAPS))?.user,
    validations: () => keystone.calls.filter((call) => call === 'GET /v3/auth/tokens').length,
  };
}

/** A configuration that uses everything that replicas share. */
function configuration({ keystone }: Testbed) {
  const unlimited = { perSecond: 1_000, burst: 1_000 };
  return {
    authentication: {
      keystone: {
        url: keystone.url,
        caFile: 'ca.crt',
        timeout: '60s',
        cacheTTL: '1h',
        serviceCredential: BRIDGE,
        roleAssignments: { cacheTTL: '1h' },
        revocationEvents: false,
      },
      // Users sign in at Keystone alone: how issuers are configured for that differs between the versions.
      jwt: [],
    },
    bindings: { provision: 'periodic', interval: '100ms', credential: { tokenFile: 'provisioner-token' } },
    portal: { bind: '127.0.0.1:0', oidc: [], signInLimits: { perSource: unlimited, perUser: unlimited } },
    cache: {
      redis: { url: { fromFile: 'redis-url' }, timeout: '5s' },
      sealingKeys: [{ fromFile: 'cache.key' }],
    },
    limits: { unknownCredentials: { perSource: { perSecond: 10_000, burst: 10_000 } } },
  };
}

/**
 * The settings that are covered by the digest under which identities are stored.
 *
 * @param main of the version
 */
async function identitySettings(main: string, file: string) {
  const folder = dirname(main);
  const [path, name] = existsSync(join(folder, 'app/configuration.ts'))
    ? ['app/configuration.ts', 'parseStonegate']
    : ['config/parse.ts', 'parseConfiguration'];
  const exported = new Map<string, unknown>(
    Object.entries(await import(pathToFileURL(join(folder, path)).href)),
  );
  const parse = exported.get(name);
  if (typeof parse !== 'function') throw new TypeError(`${path} does not export ${name}`);
  const { configuration } = parse(readFileSync(file, 'utf8'), dirname(file));
  const { authentication, tenancy } = configuration;
  const { facts: _facts, ...settings } = tenancy;
  return JSON.stringify({ authentication, tenancy: settings });
}

type Site = Awaited<ReturnType<typeof setUp>>;

/** What one version stores and the other finds, in both directions. */
/** @returns the name of the form in which a version stores sessions of the portal */
function sessionForm(main: string) {
  const text = readFileSync(join(dirname(main), 'features/portal/portal-storage.ts'), 'utf8');
  return /'(portal-session-\d+)'/.exec(text)?.[1];
}

function inBothDirections({ versions: [previous, current] }: Site) {
  return [
    { from: previous, to: current, title: `${previous.name} and then ${current.name}` },
    { from: current, to: previous, title: `${current.name} and then ${previous.name}` },
  ];
}

async function periodicRuns({ process }: Version) {
  const series =
    /^stonegate_(?:controller_runs_total\{controller="bindings"|bindings_runs_total\{trigger="periodic"),result="ok"\} (\d+)/m;
  return Number(series.exec((await process.admin('/metrics')).text)?.[1] ?? 0);
}

t.test('each version finds what the other stores under the same configuration', async (t) => {
  const previous = checkOutPrevious(t);
  // Only samples that the previous version can read: newer ones may have sections that it does not know.
  const samples = globSync(join(dirname(dirname(previous)), 'config/samples/*.yaml'));
  t.ok(samples.length > 0);
  // A new setting of these two sections is absent by default: a default value would end all portal sessions.
  for (const sample of samples)
    t.equal(await identitySettings(MAIN, sample), await identitySettings(previous, sample), sample);
});

t.test('the previous version and the current one', { skip: redisMissing() ?? false }, async (t) => {
  const site = await setUp(t);
  const { keystone, keystoneToken, ask, lastUser, validations, authority, portalPort } = site;
  const visitor = () => createPortalVisitor({ ca: authority.cert, publicPort: portalPort });

  for (const { from, to, title } of inBothDirections(site)) {
    await t.test(`a token belongs to the same user: ${title}`, async (t) => {
      const { directory } = keystone;
      const alice = directory.user('acme', 'alice');
      const unscoped = keystone.issue(alice);
      for (const token of [keystoneToken('alice'), keystoneToken('bob'), unscoped]) {
        const before = validations();
        await ask(from, token);
        const user = lastUser();
        await ask(to, token);
        t.ok(user);
        t.same(lastUser(), user);
        t.ok(validations() - before <= 2, 'each version validates a token once at most');
      }
    });

    await t.test(`a portal session survives unless its stored form has changed: ${title}`, async (t) => {
      const [form, other] = [from, to].map(({ main }) => sessionForm(main));
      t.ok(form);
      const [here, there] = [from.process.portalPort, to.process.portalPort];
      const browser = visitor();
      t.equal((await browser.at(here).signIn()).status, 303);
      t.match(await browser.at(here).get('/'), { status: 200, body: /acme:alice/ });
      if (form !== other) {
        t.equal((await browser.at(there).get('/')).status, 303, 'the user signs in again');
        return;
      }
      t.match(await browser.at(there).get('/'), { status: 200, body: /acme:alice/ });
      t.equal((await browser.at(there).post('/logout')).status, 303);
      t.equal((await browser.at(here).get('/')).status, 303, 'signing out ends it in both versions');
    });

    await t.test(`a form from one version is accepted by the other: ${title}`, async (t) => {
      const browser = visitor();
      await browser.at(from.process.portalPort).get('/login');
      const fields = { user: 'alice', password: 'alice-pass', domain: 'acme', project: 'web', next: '/' };
      t.equal((await browser.at(to.process.portalPort).post('/login/keystone', fields)).status, 303);
    });

    await t.test(`a drop applies in both versions: ${title}`, async (t) => {
      const token = keystoneToken('alice');
      for (const version of [from, to]) t.equal((await ask(version, token)).status, 200);
      const browser = visitor();
      await browser.at(to.process.portalPort).signIn();
      keystone.revoke(token);
      for (const version of [from, to]) t.equal((await ask(version, token)).status, 200, 'it is cached');
      const words = ['cache', 'drop', '--user', 'acme:alice', '--config', site.configFile];
      await run(process.execPath, [from.main, ...words]);
      for (const version of [from, to])
        await eventually(async () => (await ask(version, token)).status === 401);
      t.equal((await browser.at(to.process.portalPort).get('/')).status, 303, 'the session ends too');
    });
  }

  await t.test(
    'both versions provision under one Lease, and when one ends the other continues',
    async (t) => {
      const [previous, current] = site.versions;
      // Both agree by one Lease of the API server: its holder provisions, and the other one takes over.
      const runsOfBoth = async () =>
        (await Promise.all(site.versions.map(periodicRuns))).reduce((sum, runs) => sum + runs, 0);
      await eventually(async () => (await runsOfBoth()) >= 5);
      await previous.process.stop();
      const runs = await periodicRuns(current);
      await eventually(async () => (await periodicRuns(current)) > runs);
      t.pass('neither hinders the other');
    },
  );
});
