/**
 * Requests of several tenants to an API server that responds, refuses, hangs up or is silent, from clients
 * that stay or cancel. In any order of events no tenant has more connections than permits, no request waits
 * while a permit is free, no queue exceeds its limit, and finally every permit is released.
 */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import type { Account } from '../../src/kubernetes/upstream-request.ts';
import { KeyedSemaphore } from '../../src/limits/keyed-semaphore.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { callUpstream } from '../../src/upstream/call.ts';
import type { CallContext, CallResult } from '../../src/upstream/call-request.ts';
import type { ConnectionPool } from '../../src/upstream/http1/pool.ts';
import { callContext } from '../support/call-context.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import type { RawConnection } from '../support/raw-http/raw-connection.ts';
import { startRawServer } from '../support/raw-http/raw-server.ts';

const PERMITS_PER_TENANT = 2;
const PERMITS = 5;
/** The length of a tenant's queue, in requests. */
const QUEUE = 3;
const TIMEOUT = 20_000;
const TENANTS = ['acme', 'globex', 'initech'];

type Step =
  | {
      readonly does: 'ask';
      readonly tenant: number;
      readonly how: 'get' | 'post' | 'unspeakable' | 'throwing';
    }
  | { readonly does: 'leave' | 'break body'; readonly who: number }
  | { readonly does: 'reply' | 'refuse' | 'garbage' | 'reset'; readonly where: number }
  | { readonly does: 'advance'; readonly milliseconds: number }
  | { readonly does: 'turn' };

const REPLIES = {
  reply: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
  refuse: 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}',
  garbage: 'garbage\r\n\r\n',
};

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('ask'),
      tenant: fc.nat(TENANTS.length - 1),
      how: fc.constantFrom('get', 'get', 'post', 'unspeakable', 'throwing'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('leave', 'break body'), who: fc.nat(9) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constantFrom('reply', 'reply', 'refuse', 'garbage', 'reset'),
      where: fc.nat(9),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('advance'), milliseconds: fc.constantFrom(1, 9_000, TIMEOUT) }),
  },
  { weight: 6, arbitrary: fc.constant<Step>({ does: 'turn' }) },
);

interface Asker {
  readonly tenant: string;
  /** Takes effect once the body was requested. */
  breakBody: (fault: Error) => void;
  leave(): void;
  ended: boolean;
}

class World {
  readonly limiter: KeyedSemaphore;
  readonly askers: Asker[] = [];
  readonly clock = createFakeClock();
  readonly pool: ConnectionPool;
  readonly #context: CallContext;
  readonly #connections: readonly RawConnection[];

  constructor(url: string, connections: readonly RawConnection[]) {
    const { clock } = this;
    const { context, pool } = callContext(url, { clock, timeout: TIMEOUT, maxConnections: PERMITS });
    this.pool = pool;
    const limits = {
      ...context.limits,
      connectionsOf: (account: Account) => this.limiter.of(account.kind === 'tenant' ? account.tenant : ''),
      queuedSize: () => 1,
    };
    this.#context = { ...context, limits };
    this.#connections = connections;
    this.limiter = new KeyedSemaphore({
      clock,
      permits: PERMITS,
      permitsPerKey: PERMITS_PER_TENANT,
      queue: 16 * QUEUE,
      queuePerKey: QUEUE,
      queueTimeout: TIMEOUT,
      refusal: (reason) =>
        reason === 'full'
          ? new StatusError('TenantRateExceeded', 'too many')
          : new StatusError('UpstreamTimeout', 'too late'),
    });
  }

  async take(step: Step): Promise<void> {
    switch (step.does) {
      case 'ask':
        this.#ask(TENANTS[step.tenant] ?? 'acme', step.how);
        break;
      case 'leave':
        this.askers.at(-1 - step.who)?.leave();
        break;
      case 'break body':
        this.askers.at(-1 - step.who)?.breakBody(new Error('the body broke off'));
        break;
      case 'advance':
        this.clock.advance(step.milliseconds);
        break;
      case 'turn':
        await turn();
        break;
      default:
        this.#answer(step.does, step.where);
    }
    // A refusal reaches its caller in a microtask: all of these run before the next tick.
    await new Promise((resolve) => {
      process.nextTick(resolve);
    });
  }

  /** The invariants. */
  check(): void {
    const limiters = TENANTS.map((tenant) => this.limiter.of(tenant));
    const allInUse = this.limiter.inUse === PERMITS;
    assert.ok(this.limiter.inUse <= PERMITS);
    for (const [index, { inUse, queued }] of limiters.entries()) {
      const tenant = TENANTS[index];
      const underWay = this.askers.filter((each) => each.tenant === tenant && !each.ended).length;
      assert.ok(inUse >= 0 && inUse <= PERMITS_PER_TENANT, `${tenant} has ${inUse} permits`);
      assert.ok(queued <= QUEUE);
      assert.ok(queued <= underWay, `${tenant}: nothing waits that has ended`);
      assert.ok(inUse >= underWay - queued, `${tenant}: ${inUse} permits for ${underWay} requests`);
      if (queued > 0) assert.ok(allInUse || inUse === PERMITS_PER_TENANT, `${tenant} waits for nothing`);
    }
    const queued = limiters.reduce((sum, each) => sum + each.queued, 0);
    assert.equal(this.limiter.queued, queued);
  }

  #ask(tenant: string, how: Extract<Step, { does: 'ask' }>['how']): void {
    let leave: () => void = () => undefined;
    const body = how === 'post' ? new PassThrough() : undefined;
    body?.write('{');
    const asker: Asker = { tenant, breakBody: () => undefined, leave: () => leave(), ended: false };
    this.askers.push(asker);
    const cancellation = {
      cancelled: false,
      onCancel(callback: () => void) {
        leave = callback;
      },
      offCancel() {
        asker.ended = true;
      },
    };
    const ended = (): void => {
      assert.ok(asker.ended);
    };
    callUpstream(
      this.#context,
      {
        account: { kind: 'tenant', tenant: toTenantName(tenant) },
        sender: { kind: 'stonegate' },
        method: body === undefined ? 'GET' : 'POST',
        target: how === 'unspeakable' ? '/ä' : '/',
        headers: [],
      },
      {
        framing: body === undefined ? 'none' : 'chunked',
        body:
          body &&
          ((onFault) => {
            asker.breakBody = onFault;
            return body;
          }),
        discardable: body === undefined,
        cancellation,
      },
      {
        head() {
          if (how === 'throwing') throw new Error('the sink broke down');
        },
        data: () => undefined,
        end: () => undefined,
        brokeOff: (result: CallResult) => result,
      },
    ).then(ended, ended);
  }

  #answer(how: 'reply' | 'refuse' | 'garbage' | 'reset', where: number): void {
    const open = this.#connections.filter(({ socket }) => !socket.destroyed && socket.writable);
    const connection = open[where % Math.max(1, open.length)];
    if (how === 'reset') connection?.reset();
    else connection?.send(REPLIES[how]);
  }
}

t.test('however a request ends, its permit is released and given to a waiting request', async (t) => {
  let asked = 0;
  let waited = 0;
  const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
  const property = fc.asyncProperty(steps, fc.constantFrom('close', 'destroy'), async (taken, last) => {
    const server = await startRawServer();
    const world = new World(server.url, server.connections);
    try {
      for (const each of taken) {
        await world.take(each);
        world.check();
        waited +=
          world.askers.filter(({ ended }) => !ended).length > PERMITS_PER_TENANT * TENANTS.length ? 1 : 0;
      }
      const closing = last === 'close' ? world.pool.close() : undefined;
      if (last === 'close') {
        for (const asker of world.askers.filter((_each, index) => index % 2 === 0))
          if (!asker.ended) asker.leave();
        for (let round = 0; round < 10; round += 1) {
          await turn();
          world.check();
          world.clock.advance(TIMEOUT);
        }
      }
      world.limiter.refuseAll(new StatusError('UpstreamUnavailable', 'it ends'));
      await world.pool.destroy();
      await closing;
      world.check();
      assert.ok(world.askers.every(({ ended }) => ended));
      assert.equal(world.limiter.inUse, 0);
      for (const tenant of TENANTS) assert.equal(world.limiter.of(tenant).inUse, 0);
      asked += world.askers.length;
      // A shared timer is not cancelled with its last entry: it fires once more and is not rescheduled.
      world.clock.advance(TIMEOUT);
      assert.equal(world.clock.pending, 0);
    } finally {
      await world.pool.destroy();
      await server.close();
    }
  });
  await t.resolves(fc.assert(property, { numRuns: 300 }));
  t.ok(asked > 1_000 && waited > 100, `enough requests were made (${asked}) and waited (${waited})`);
});
