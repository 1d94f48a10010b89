/** Stonegate's own streams: what a client that does not read costs, and how each of them ends. */
import t from 'tap';
import { ResponseMemory } from '../../../../src/limits/response-memory.ts';
import { type ResponseStream, writeStream } from '../../../../src/proxy/response/response-stream.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';

const KIB = 1_024;
const mode = createSharedMode({ domains: {}, reservedNamePrefixes: [] });

/** A client that reads nothing until `drain` is called. */
function openStream(memory: ResponseMemory, bytes = 0) {
  const exchange = fakeExchange({ target: '/api/v1/namespaces?watch=1' });
  const drains: (() => void)[] = [];
  const response = Object.create(exchange.response, {
    write: { value: () => false },
    onDrain: { value: (callback: () => void) => drains.push(callback) },
  });
  const opened = Promise.withResolvers<ResponseStream>();
  const state = { stopped: 0 };
  const answer = {
    status: 200,
    headers: [],
    bytes,
    start(stream: ResponseStream) {
      opened.resolve(stream);
      return () => {
        state.stopped += 1;
      };
    },
  };
  const outgoing = outgoingOf(mode, keystoneIdentity('alice'), { ...exchange, response });
  const result = writeStream(outgoing, answer, memory, undefined);
  return {
    exchange,
    state,
    result,
    stream: opened.promise,
    drain() {
      for (const callback of drains.splice(0)) callback();
    },
  };
}

t.test('unread bytes beyond 128 KiB count against the tenant until the client reads them', async (t) => {
  const memory = new ResponseMemory();
  const { stream: opened, drain, exchange, state, result } = openStream(memory);
  const stream = await opened;
  stream.write(Buffer.alloc(128 * KIB));
  t.notOk(stream.isWritable);
  t.equal(memory.reserved, 0);
  stream.write(Buffer.alloc(10 * KIB));
  t.equal(memory.reserved, 10 * KIB);
  let drained = 0;
  stream.onDrain(() => {
    drained += 1;
  });
  drain();
  t.equal(drained, 1);
  t.ok(stream.isWritable);
  t.equal(memory.reserved, 0);
  stream.write(Buffer.alloc(300 * KIB));
  exchange.leave();
  t.match(await result, { status: 200, aborted: true });
  t.equal(memory.reserved, 0, 'the memory of a client that disconnects is released');
  t.equal(state.stopped, 1);
});

t.test(
  'a client for which the tenant has no memory left is disconnected; its other clients are not',
  async (t) => {
    const memory = new ResponseMemory({ total: 1_000 * KIB, perKey: 100 * KIB });
    const slow = openStream(memory);
    const other = openStream(memory);
    (await other.stream).write(Buffer.alloc(150 * KIB));
    (await slow.stream).write(Buffer.alloc(200 * KIB));
    (await slow.stream).write(Buffer.alloc(10 * KIB));
    t.match(await slow.result, { aborted: true });
    t.ok(slow.exchange.response.destroyed);
    t.equal(slow.state.stopped, 1);
    t.equal(memory.reserved, 22 * KIB);
    t.notOk((await other.stream).closed);
  },
);

t.test('what a stream keeps for its client counts against the tenant as long as it is open', async (t) => {
  const memory = new ResponseMemory({ total: 1_000 * KIB, perKey: 100 * KIB });
  const { stream, exchange, result } = openStream(memory, 200 * KIB);
  t.equal(memory.reserved, 72 * KIB);
  (await stream).write(Buffer.alloc(10 * KIB));
  t.equal(memory.reserved, 82 * KIB);
  t.throws(() => openStream(memory, 200 * KIB), { code: 'TenantRateExceeded', http: 429 });
  exchange.leave();
  await result;
  t.equal(memory.reserved, 0);
});

t.test('an error at the start of a stream is passed to the caller, which logs it', async (t) => {
  const memory = new ResponseMemory();
  const exchange = fakeExchange({ target: '/api/v1/namespaces?watch=1' });
  const outgoing = outgoingOf(mode, keystoneIdentity('alice'), exchange);
  const unexpected = new TypeError('unexpected');
  const start = () => {
    throw unexpected;
  };
  await t.rejects(writeStream(outgoing, { status: 200, headers: [], start }, memory, undefined), unexpected);
  t.equal(memory.reserved, 0);
});
