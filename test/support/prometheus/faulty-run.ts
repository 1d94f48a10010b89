/**
 * A real Stonegate with a real Redis, scraped by a real Prometheus, while one backend after another fails.
 * Each fault lasts until its alert would fire, apart from the alert’s `for`.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { prepareCrossTenant } from '../cross-tenant.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { createHttpsClient } from '../https-client.ts';
import { openRequest } from '../open-request.ts';
import { isForClient } from '../own-questions.ts';
import { admitProvisioner } from '../provisioner.ts';
import { createRedisServer } from '../redis/redis-server.ts';
import { serveStonegate } from '../stonegate-process.ts';
import { createTestbed, OWN_TOKEN, type Testbed } from '../testbed.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';
import { alerts } from './rules.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const DAY = 86_400_000;
/** Requests per repetition: more than one, so that ratios rise quickly. */
const EACH_TIME = 5;

const PUBLISHED_FROM = 'shared';
const PUBLISHING = { namespaces: [PUBLISHED_FROM], interval: '1s' };
const AUDITORS: object = parse(`
  subjects: [{kind: User, tenant: acme, name: alice}]
  rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}]`);

interface Site {
  readonly testbed: Testbed;
  readonly prometheus: Prometheus;
  readonly ask: (token: string, path?: string) => Promise<number>;
  /** Repeats the work until the alert's expression is true. */
  readonly until: (alert: string, work: () => Promise<unknown>) => Promise<void>;
}

export async function runWithFaults(folder: string) {
  await mkdir(folder, { recursive: true });
  const redis = await createRedisServer({ tcp: true });
  const adminPort = await freePort();
  const testbed = await createTestbed({ folder });
  await configure(testbed, folder, redis.url, adminPort);
  const prometheus = await startPrometheus({ folder, target: `127.0.0.1:${adminPort}` });
  const fired = new Set<string>();
  const holds = (alert: string) => async () => {
    const { expr = '' } = alerts().find((each) => each.alert === alert) ?? {};
    return (await prometheus.query(expr)).length > 0;
  };
  const until: Site['until'] = async (alert, work) => {
    await eventually(async () => {
      await work();
      return holds(alert)();
    });
    fired.add(alert);
  };

  await until('StonegateAbsent', async () => undefined);
  await testbed.apiServer.stop();
  const stonegate = await serveStonegate(testbed.configFile);
  const client = createHttpsClient({ port: stonegate.port, ca: testbed.authority.cert });
  const ask: Site['ask'] = async (token, path = CONFIGMAPS) => (await client.ask(token, path)).status;
  const site: Site = { testbed, prometheus, ask, until };

  await until('StonegateIndexIncomplete', async () => undefined);
  await testbed.apiServer.start();
  const destination = { port: stonegate.port, ca: testbed.authority.cert };
  const known = testbed.keystoneToken('alice');
  const watch = openRequest(destination, known, `${CONFIGMAPS}?watch=true`);
  await watch.until('"settings"');
  await ordinaryTraffic(site);
  // A reload clears the cache in memory, so that earlier validations are read from Redis.
  await eventually(async () => {
    stonegate.signal('SIGHUP');
    await ask(known);
    return (await prometheus.query('stonegate_cache_lookups_total{tier="redis",result="hit"}')).length > 0;
  });
  await identityFaults(site, redis);
  await apiServerFaults(site);
  await tenantOverLimit(site);
  await until('StonegateCertificateExpires', async () => undefined);
  await until('StonegateCertificateExpiresSoon', async () => undefined);
  await writeFile(testbed.configFile, 'kind: Other\n');
  await until('StonegateReloadFailed', async () => stonegate.signal('SIGHUP'));

  return {
    prometheus,
    /** The alerts whose expression was true during the run. */
    fired,
    async close() {
      watch.leave();
      await watch.answered;
      client.close();
      await stonegate.stop();
      await prometheus.stop();
      await redis.remove();
      await testbed.close();
    },
  };
}

/** Configures a certificate that is valid for a day, and an audit log on a full disk. */
async function configure(testbed: Testbed, folder: string, redisURL: string, adminPort: number) {
  const served = await testbed.authority.server('stonegate', [], {
    notAfterDate: new Date(Date.now() + DAY),
  });
  await writeFile(join(folder, 'tls.crt'), served.cert);
  await writeFile(join(folder, 'tls.key'), served.key);
  await writeFile(join(folder, 'redis-url'), redisURL);
  const sections = {
    admin: { bind: `127.0.0.1:${adminPort}` },
    access: { index: true, verifyOneIn: 1 },
    audit: { file: '/dev/full' },
    cache: {
      redis: { url: { fromFile: 'redis-url' }, timeout: '250ms' },
      sealingKeys: [{ fromFile: 'cache.key' }],
    },
    publishing: PUBLISHING,
    limits: {
      perTenant: { perSecond: 50, burst: 100 },
      unknownCredentials: { perSource: { perSecond: 1_000, burst: 1_000 } },
    },
    upstream: {
      server: testbed.apiServer.url,
      timeouts: { connect: '60s', response: '1s' },
    },
  };
  testbed.keystone.directory.role('admin');
  testbed.keystone.directory.role('reader');
  let all: Record<string, object> = sections;
  const configured = {
    ...testbed,
    configure(changes: Record<string, object>) {
      all = { ...all, ...changes };
      return testbed.configure(all);
    },
  };
  const bindings = { provision: 'periodic', interval: '1s', maxDeletedShare: 1 };
  await admitProvisioner(configured, { mode: 'arktos', bindings });
  const { policy } = await prepareCrossTenant(configured, {
    authorization: { crossTenantPolicies: true },
    configuration: { bindings: { credential: { tokenFile: 'provisioner-token' }, ...bindings } },
  });
  policy('globex', 'auditors', AUDITORS);
  const { seed } = testbed.apiServer;
  seed.namespace(PUBLISHED_FROM, { tenant: 'system' });
  const metadata = { annotations: { 'multi-tenancy.k8s.io/published': 'all' } };
  const home = { tenant: 'system', namespace: PUBLISHED_FROM };
  seed.object('v1/configmaps', 'settings', { metadata, data: {} }, home);
}

async function ordinaryTraffic({ testbed, prometheus, ask, until }: Site) {
  const alice = testbed.keystoneToken('alice');
  await until('StonegateAuditLogFailing', async () => {
    for (const path of [CONFIGMAPS, `${CONFIGMAPS}/settings`, '/api/v1/namespaces', '/apis'])
      await ask(alice, path);
  });
  await ask(testbed.keystoneToken('bob'), '/api/v1/tenants/acme/namespaces/default/pods');
  await ask('no-token');
  await eventually(async () => {
    await ask(alice, '/api/v1/namespaces');
    const succeeded = await prometheus.query(
      'stonegate_controller_last_success_timestamp_seconds{controller="bindings"}',
    );
    return succeeded.length > 0;
  });
}

async function identityFaults(
  { testbed, ask, until }: Site,
  redis: { stop(): Promise<void>; start(): Promise<void> },
) {
  const { keystone, provider } = testbed;
  await ask(await provider.idToken('carol'));
  await keystone.down();
  await until('StonegateKeystoneUnavailable', () => ask(testbed.keystoneToken('alice')));
  await keystone.listen();
  await provider.rotateKeys();
  const rotated = await provider.idToken('carol');
  await provider.down();
  await until('StonegateIssuerUnavailable', () => ask(rotated));
  await provider.up();
  await redis.stop();
  await until('StonegateRedisUnavailable', () => ask(testbed.keystoneToken('alice')));
  await redis.start();
}

async function apiServerFaults({ testbed, ask, until }: Site) {
  const { apiServer } = testbed;
  const alice = testbed.keystoneToken('alice');
  await until('StonegateApiServerUnavailable', async () => {
    for (let times = 0; times < EACH_TIME; times += 1) apiServer.breakNext('hang', isForClient);
    await Promise.all(Array.from({ length: EACH_TIME }, () => ask(alice)));
  });
  const own = apiServer.cluster.tokens.get(OWN_TOKEN);
  apiServer.cluster.tokens.delete(OWN_TOKEN);
  await until('StonegateCredentialRefused', () => ask(alice));
  await until('StonegateErrorBudgetBurnsFast', () => ask(alice));
  await until('StonegateErrorBudgetBurns', () => ask(alice));
  await apiServer.restart();
  await until('StonegateInformerRefused', () => ask(alice));
  if (own !== undefined) apiServer.cluster.tokens.set(OWN_TOKEN, own);
  await apiServer.stop();
  for (let times = 0; times < EACH_TIME; times += 1) await ask(alice);
  await apiServer.start();
  await eventually(async () => (await ask(alice)) === 200);
}

async function tenantOverLimit({ testbed, ask, until }: Site) {
  const alice = testbed.keystoneToken('alice');
  await until('StonegateTenantLimited', () => Promise.all(Array.from({ length: 150 }, () => ask(alice))));
}
