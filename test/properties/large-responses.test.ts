/**
 * Concurrent users receive their own responses byte for byte, however fast they read, over HTTP/1.1 and
 * HTTP/2, from an API server with and without TLS, while other clients disconnect.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { createUpstream } from '../../src/upstream/upstream.ts';
import { LIMITS } from '../support/raw-http/relay.ts';
import { authority, startListener } from '../support/server/listening.ts';

interface Fetch {
  readonly bytes: number;
  /** Bytes per write of the API server. */
  readonly step: number;
  readonly framed: 'length' | 'chunked';
  readonly over: 'HTTP/1.1' | 'HTTP/2';
  /** Milliseconds for which the client stops reading after the first chunk. */
  readonly slow: number;
  /** Bytes after which the client disconnects. */
  readonly leavesAt: number | undefined;
}

/** The content differs for each user and at each position. */
function contentOf(client: number, bytes: number): Buffer {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let state = 0x9e3779b9 ^ (client + 1);
  for (let at = 0; at < words.length; at += 1) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + at;
    words[at] = state;
  }
  return Buffer.from(words.buffer, 0, bytes);
}

let fetches: readonly Fetch[] = [];

async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const client = Number(request.url?.slice(1));
  const { bytes, step, framed } = fetches[client] ?? assert.fail('no client requested it');
  const content = contentOf(client, bytes);
  if (framed === 'length') response.setHeader('Content-Length', bytes);
  for (let at = 0; at < bytes && !response.destroyed; at += step)
    if (!response.write(content.subarray(at, at + step)))
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
  response.end();
}

async function startSite(secure: boolean) {
  const server = secure
    ? https.createServer(await authority.server('localhost'), answer)
    : http.createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const upstream = createUpstream({
    server: `${secure ? 'https' : 'http'}://localhost:${address.port}`,
    ca: authority.cert,
    credential: { token: 'our-token' },
    timeouts: { connect: 10_000, response: 60_000, body: 60_000 },
    maxBodyBytes: 1_000_000,
    limits: LIMITS,
    clock: systemClock,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  const listening = await startListener(async (exchange) => {
    const { method, target } = exchange;
    const sender = { kind: 'stonegate' } as const;
    const request = {
      account: { kind: 'tenant', tenant: toTenantName('acme') } as const,
      sender,
      method,
      target,
      headers: [],
      longRunning: false,
      endless: false,
      proxied: false,
      dropsBookmarks: false,
    };
    await upstream.forward(request, exchange, { onHead() {} });
  });
  const session = await listening.session();
  const agent = new https.Agent({ keepAlive: true, ca: authority.cert });
  return {
    fetch: (client: number, plan: Fetch) => {
      if (plan.over === 'HTTP/2') return read(session.request({ ':path': `/${client}` }), plan);
      const request = https.get({ agent, port: listening.port, host: 'localhost', path: `/${client}` });
      request.on('error', () => undefined);
      return once(request, 'response').then(([response]) => read(response, plan));
    },
    async close() {
      session.destroy();
      agent.destroy();
      await listening.close();
      await upstream.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** @returns the body; undefined if the client disconnected */
async function read(stream: NodeJS.ReadableStream & { destroy(): unknown }, plan: Fetch) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('error', () => undefined);
  for await (const chunk of stream) {
    if (bytes === 0) await pause(plan.slow);
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (plan.leavesAt === undefined || bytes < plan.leavesAt) continue;
    stream.destroy();
    return undefined;
  }
  return Buffer.concat(chunks);
}

const anyFetch: fc.Arbitrary<Fetch> = fc.record({
  bytes: fc.integer({ min: 1, max: 600_000 }),
  step: fc.constantFrom(900, 8_192, 16_384, 30_000, 65_536, 300_000),
  framed: fc.constantFrom('length', 'chunked'),
  over: fc.constantFrom('HTTP/1.1', 'HTTP/2'),
  slow: fc.constantFrom(0, 0, 5, 30),
  leavesAt: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.integer({ min: 1, max: 300_000 })),
});

for (const secure of [false, true]) {
  t.test(
    `concurrent users receive their own responses from an API server ${secure ? 'with' : 'without'} TLS`,
    async (t) => {
      const site = await startSite(secure);
      t.teardown(() => site.close());
      await fc.assert(
        fc.asyncProperty(fc.array(anyFetch, { minLength: 1, maxLength: 8 }), async (planned) => {
          fetches = planned;
          const answers = await Promise.all(planned.map((plan, client) => site.fetch(client, plan)));
          for (const [client, got] of answers.entries()) {
            const wanted = contentOf(client, planned[client]?.bytes ?? 0);
            assert.ok(got === undefined || got.equals(wanted), `client ${client} received its own response`);
          }
        }),
        { numRuns: 40 },
      );
    },
  );
}
