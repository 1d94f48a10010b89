/**
 * Many requests over few connections: in any order of events at the clients, the server and the network, each
 * handler receives only its own response, and its end is reported exactly once.
 */
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import type { RawConnection } from '../support/raw-http/raw-connection.ts';
import { startRawServer } from '../support/raw-http/raw-server.ts';
import type { HandlerCall, Recorder } from '../support/raw-http/recorder.ts';
import { createTestPool, type TestPool } from '../support/raw-http/test-pool.ts';

const faults: unknown[] = [];
process.on('uncaughtException', (error) => faults.push(error));
process.on('unhandledRejection', (error) => faults.push(error));

const MAX_CONNECTIONS = 3;
const contentFor = (target: string): string => `for ${target};`.repeat(3);
const WRONG = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong';

interface Asker {
  readonly target: string;
  readonly recorder: Recorder;
  abandoned: boolean;
}

/** How the server responds to the oldest request of a connection without a response. */
type Reply = 'whole' | 'in chunks' | 'begun' | 'last' | 'with more behind it' | 'without end' | 'garbage';

type Step =
  | {
      readonly does: 'ask';
      readonly breaksIn?: HandlerCall;
      readonly pausesIn?: HandlerCall;
      readonly asksIn?: HandlerCall;
    }
  | { readonly does: 'abandon' | 'pause' | 'resume'; readonly who: number }
  | { readonly does: 'reply'; readonly how: Reply; readonly where: number; readonly cut: number }
  | { readonly does: 'finish' | 'reset'; readonly where: number }
  | { readonly does: 'advance'; readonly milliseconds: number }
  | { readonly does: 'turn' | 'close' };

const handlerCall = fc.constantFrom<HandlerCall>('onSent', 'onHead', 'onData', 'onEnd', 'onFailure');
const often = <T>(usual: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
const ask: fc.Arbitrary<Step> = fc
  .record({
    breaksIn: often<HandlerCall | undefined>(undefined, handlerCall),
    pausesIn: often<HandlerCall | undefined>(undefined, handlerCall),
    asksIn: often<HandlerCall | undefined>(undefined, handlerCall),
  })
  .map(({ breaksIn, pausesIn, asksIn }) => ({
    does: 'ask',
    ...(breaksIn && { breaksIn }),
    ...(pausesIn && { pausesIn }),
    ...(asksIn && { asksIn }),
  }));
const where = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: ask },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('reply'),
      how: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom<Reply>('whole', 'in chunks') },
        {
          weight: 2,
          arbitrary: fc.constantFrom<Reply>('begun', 'last', 'with more behind it', 'without end', 'garbage'),
        },
      ),
      where,
      cut: fc.nat(100),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constantFrom('abandon', 'pause', 'resume', 'resume'), who: fc.nat(9) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('finish', 'reset'), where }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('advance'),
      milliseconds: fc.constantFrom(1, 5_000, 30_000, 60_000, -20_000),
    }),
  },
  { weight: 8, arbitrary: fc.constant<Step>({ does: 'turn' }) },
);

/** The requests that a connection carried, in order. */
const requestsOf = ({ received }: RawConnection): string[] =>
  [...received.matchAll(/GET (\/\d+) /g)].map(([, target]) => target ?? '');

function bytesOf(reply: Reply, content: string): string {
  const [size, half] = [content.length, content.slice(0, 9)];
  switch (reply) {
    case 'whole':
      return `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${content}`;
    case 'in chunks':
      return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${content}\r\n0\r\n\r\n`;
    case 'begun':
      return `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${half}`;
    case 'last':
      return `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n${content}`;
    case 'with more behind it':
      return `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${content}${WRONG}`;
    case 'without end':
      return `HTTP/1.1 200 OK\r\n\r\n${half}`;
    case 'garbage':
      return `HTTP/1.1 200 OK\r\nContent-Length: 1,1\r\n\r\n${WRONG}`;
  }
}

class World {
  readonly askers: Asker[] = [];
  readonly #ends: TestPool;
  readonly #connections: readonly RawConnection[];
  /** How many responses a connection has carried. */
  readonly #answered = new Map<RawConnection, number>();
  closing: Promise<void> | undefined;

  constructor(ends: TestPool, connections: readonly RawConnection[]) {
    this.#ends = ends;
    this.#connections = connections;
  }

  async take(step: Step): Promise<void> {
    switch (step.does) {
      case 'ask':
        this.#ask(step);
        break;
      case 'abandon':
      case 'pause':
      case 'resume':
        this.#steer(step.does, step.who);
        break;
      case 'reply':
        await this.#reply(step.how, step.where, step.cut);
        break;
      case 'finish':
        this.#open(step.where)?.socket.end();
        break;
      case 'reset':
        this.#open(step.where)?.reset();
        break;
      case 'advance':
        this.#ends.clock.advance(step.milliseconds);
        break;
      case 'turn':
        await turn();
        break;
      case 'close':
        this.closing ??= this.#ends.pool.close();
    }
  }

  /** Resumes all handlers and responds to each request that has arrived. */
  async answerAll(): Promise<void> {
    for (const { recorder } of this.askers) recorder.pending?.resume();
    for (let where = 0; where < MAX_CONNECTIONS; where += 1) await this.#reply('whole', where, 1_000);
    await turn();
  }

  #ask({ breaksIn, pausesIn, asksIn }: Extract<Step, { does: 'ask' }>): void {
    const target = `/${this.askers.length}`;
    let asked = false;
    const asker: Asker = {
      target,
      abandoned: false,
      recorder: this.#ends.ask({ target }, (call) => {
        assert.notEqual(asker?.abandoned, true, 'no call to the handler of a cancelled request');
        if (call === pausesIn) asker?.recorder.pending?.pause();
        if (call === asksIn && !asked) {
          asked = true;
          this.#ask({ does: 'ask' });
        }
        if (call === breaksIn) throw new Error(`broken in ${call}`);
      }),
    };
    this.askers.push(asker);
  }

  #steer(does: 'abandon' | 'pause' | 'resume', who: number): void {
    const asker = this.askers.at(-1 - (who % Math.max(1, this.askers.length)));
    if (asker === undefined) return;
    if (does === 'abandon') asker.abandoned = true;
    asker.recorder.pending?.[does === 'abandon' ? 'cancel' : does]();
  }

  /** A connection that is open on the server's side. */
  #open(where: number): RawConnection | undefined {
    const open = this.#connections.filter(({ socket }) => !socket.destroyed && socket.writable);
    return open[where % Math.max(1, open.length)];
  }

  async #reply(how: Reply, where: number, cut: number): Promise<void> {
    const connection = this.#open(where);
    if (connection === undefined) return;
    const target = requestsOf(connection)[this.#answered.get(connection) ?? 0];
    if (target === undefined) return;
    this.#answered.set(connection, (this.#answered.get(connection) ?? 0) + 1);
    const bytes = bytesOf(how, contentFor(target));
    // Bytes after a response look like the next response if they arrive after the next request was sent.
    const first = how === 'with more behind it' ? bytes.length : cut;
    connection.send(bytes.slice(0, first));
    if (cut % 2 === 0) await turn();
    if (first < bytes.length) connection.send(bytes.slice(first));
    if (how === 'without end' || how === 'last') connection.socket.end();
  }
}

function check({ target, recorder, abandoned }: Asker): void {
  const { calls, content, error, ends } = recorder;
  assert.ok(abandoned || ends >= 1, `${target}: ${calls.join()}`);
  assert.ok(contentFor(target).startsWith(content), `${target} received ${content}`);
  const broken = error?.message.startsWith('broken in ') ?? false;
  // A handler that throws in `onEnd` is called once more, with that error.
  assert.ok(ends <= 1 || (broken && calls.slice(-2).join() === 'onEnd,onFailure'), calls.join());
  if (ends > 0) assert.match(calls.at(-1) ?? '', /^on(End|Failure)$/, calls.join());
  for (const once of ['onSent', 'onHead', 'onEnd', 'onFailure'])
    assert.ok(calls.filter((each) => each === once).length <= 1, calls.join());
}

t.test('each handler receives only its own response, and its end is reported exactly once', async (t) => {
  let ended = 0;
  let failed = 0;
  const steps = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' });
  const property = fc.asyncProperty(steps, fc.constantFrom('close', 'destroy'), async (taken, last) => {
    const server = await startRawServer();
    const ends = createTestPool({ server: `http://127.0.0.1:${server.port}` }, MAX_CONNECTIONS);
    const world = new World(ends, server.connections);
    for (const each of taken) {
      await world.take(each);
      assert.ok(ends.sockets.filter(({ destroyed }) => !destroyed).length <= MAX_CONNECTIONS);
    }
    if (last === 'close') {
      await world.take({ does: 'close' });
      for (let round = 0; round < 20; round += 1) await world.answerAll();
    }
    await ends.pool.destroy();
    await world.closing;
    for (const each of world.askers) check(each);
    ended += world.askers.filter(({ recorder }) => recorder.calls.includes('onEnd')).length;
    failed += world.askers.filter(({ recorder }) => recorder.error !== undefined).length;
    for (const socket of ends.sockets) assert.ok(socket.destroyed);
    assert.ok(server.connections.every((each) => new Set(requestsOf(each)).size === requestsOf(each).length));
    await server.close();
    assert.deepEqual(faults, []);
    assert.equal(ends.clock.pending, 0);
  });
  await t.resolves(fc.assert(property, { numRuns: 500 }));
  t.ok(ended > 500 && failed > 500, `enough requests ended (${ended}) and failed (${failed})`);
});
