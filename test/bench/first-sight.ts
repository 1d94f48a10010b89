/**
 * The cost of a credential's first request: the CPU to verify a JWT, and how often Keystone is asked for a
 * token that many requests carry at once.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { keystoneToken } from './configuration.ts';
import { startStonegate } from './contenders/stonegate.ts';
import { loadFor } from './generator.ts';
import type { Site } from './site.ts';
import { cpuSeconds } from './usage.ts';
import { wrk } from './wrk.ts';

export interface FirstSight {
  readonly jwts: number;
  /**
   * Microseconds of CPU: of a request with a JWT never seen, of one with a JWT seen before, and their
   * difference.
   */
  readonly firstRequest: number;
  readonly laterRequest: number;
  readonly verification: number;
  readonly keystoneTokens: number;
  readonly keystoneRequest: number;
  readonly callsPerTokenAlone: number;
}

const PATH = '/api/v1/namespaces/default/configmaps/small';

export async function measureFirstSight(site: Site, count = 4_000): Promise<FirstSight> {
  const jwts = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      site.issuer.sign({ sub: `user-${index}`, aud: 'kubernetes', jti: randomUUID() }),
    ),
  );
  const serving = await startStonegate({ site, upstream: 'plain', name: 'first-sight' });
  const shape = { folder: site.folder, port: serving.port, path: PATH, connections: 16 };
  try {
    const warm = await site.issuer.sign({ sub: 'warm', aud: 'kubernetes' });
    await loadFor(8, wrk, { ...shape, tokens: [warm] });
    // The code for unknown credentials must be compiled too.
    await cpuPerRequest(serving, jwts.slice(0, count / 2));
    const firstRequest = await cpuPerRequest(serving, jwts.slice(count / 2));
    const later = jwts.slice(count / 2);
    await cpuPerRequest(serving, later.slice(-1_000));
    const laterRequest = await cpuPerRequest(serving, later.slice(-1_000));
    const tokens = Array.from({ length: count / 4 }, (_, n) => keystoneToken({ user: `unknown-${n}` }));
    const keystoneRequest = await cpuPerRequest(serving, tokens);
    const before = (await site.counts()).keystoneCalls;
    const together = Array.from({ length: 20 }, (_, n) => keystoneToken({ user: `together-${n}` }));
    for (const token of together) await sendAll(serving.port, Array(50).fill(token));
    const callsPerTokenAlone = ((await site.counts()).keystoneCalls - before) / together.length;
    return {
      jwts: count / 2,
      firstRequest,
      laterRequest,
      verification: firstRequest - laterRequest,
      keystoneTokens: tokens.length,
      keystoneRequest,
      callsPerTokenAlone,
    };
  } finally {
    await serving.stop();
  }
}

async function cpuPerRequest(serving: { pid: number; port: number }, tokens: readonly string[]) {
  const before = cpuSeconds(serving.pid);
  await sendAll(serving.port, tokens);
  return ((cpuSeconds(serving.pid) - before) * 1e6) / tokens.length;
}

/** Each token once, 64 at a time on keep-alive connections. */
async function sendAll(port: number, tokens: readonly string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });
  const send = (token: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      request({ agent, port, host: '127.0.0.1', path: PATH, headers }, (response) => {
        response.resume();
        response.on('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`refused with ${response.statusCode}`));
        });
      })
        .on('error', reject)
        .end();
    });
  try {
    await Promise.all(tokens.map(send));
  } finally {
    agent.destroy();
  }
}
