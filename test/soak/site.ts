/** Everything of the soak test: the testbed, a real Redis, Stonegate as a process, and Prometheus. */
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { type Prometheus, startPrometheus } from '../support/prometheus/prometheus.ts';
import { createRedisServer, type RedisServer } from '../support/redis/redis-server.ts';
import { createTestbed, type Testbed } from '../support/testbed.ts';
import { type Program, startProgram } from './program.ts';

export interface SoakSite {
  readonly testbed: Testbed;
  readonly redis: RedisServer;
  readonly program: Program;
  readonly prometheus: Prometheus;
  readonly port: number;
  /** A token of a user of acme who was not there before. */
  newUser(lifeMs: number): string;
  /** Writes the configuration anew, with something changed, and makes Stonegate read it. */
  reload(): Promise<void>;
  /** Replaces the listener's certificate. */
  rotateCertificate(): Promise<void>;
  close(): Promise<void>;
}

export async function createSoakSite(folder: string): Promise<SoakSite> {
  await mkdir(folder, { recursive: true });
  const [port, adminPort, redis] = [
    await freePort(),
    await freePort(),
    await createRedisServer({ tcp: true }),
  ];
  const testbed = await createTestbed({ folder });
  const { apiServer, keystone, authority, configure } = testbed;
  const project = keystone.directory.project('acme', 'web');
  apiServer.seed.clusterRoleBinding('project', 'worker', [`group:keystone:project:${project.id}`], {
    tenant: 'acme',
  });
  await writeFile(join(folder, 'redis-url'), redis.url);
  let version = 0;
  const write = () =>
    configure(
      parse(`
      server: {bind: 127.0.0.1:${port}}
      admin: {bind: 127.0.0.1:${adminPort}}
      access: {index: true}
      cache: {redis: {url: {fromFile: redis-url}}, sealingKeys: [{fromFile: cache.key}]}
      limits:
        perTenant: {perSecond: 50, burst: 100}
        costs: {list: 1, watch: 1, write: 1, connect: 1}
      authentication: {impersonationExtraKeys: [example.com/version-${version}]}`),
    );
  await write();
  const program = await startProgram(testbed.configFile, adminPort, join(folder, 'stonegate.log'));
  const prometheus = await startPrometheus({ folder, target: `127.0.0.1:${adminPort}` });
  return {
    testbed,
    redis,
    program,
    prometheus,
    port,
    newUser(life) {
      const user = keystone.directory.user('acme', `user-${randomUUID()}`);
      keystone.directory.assign(user, 'member', { project });
      return keystone.issue(user, { project }, { life });
    },
    async reload() {
      version = 1 - version;
      await write();
      program.reload();
    },
    async rotateCertificate() {
      const pair = await authority.server('stonegate');
      await writeFile(join(folder, 'tls.key'), pair.key);
      await writeFile(join(folder, 'tls.crt'), pair.cert);
      program.reload();
    },
    async close() {
      await program.stop();
      await prometheus.stop();
      await redis.remove();
      await testbed.close();
    },
  };
}
