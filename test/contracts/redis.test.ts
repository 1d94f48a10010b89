/**
 * The contents of Redis that replicas of two versions share during an upgrade: names, sealed values, epochs
 * and messages, with a fixed secret, clock and random source.
 */
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { createSealingKey } from '../../src/cache/sealing-key.ts';
import { accountKeys } from '../../src/features/rates/token-script.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createMemoryStore } from '../support/redis/memory-store.ts';
import { createReplica, sealingKey } from '../support/redis/replica.ts';
import { macOf, opened } from './opened.ts';
import { asJSON, sameAsRecorded } from './recorded.ts';

const START = Date.UTC(2026, 0, 1);
const SECRET = sealingKey(7);
const digestOf = (token: string) => createHash('sha256').update(token).digest('base64url');

const random = {
  bytes: (size: number) => Buffer.alloc(size, 9),
  uuid: () => '00000000-0000-4000-8000-000000000000',
  fraction: () => 0.5,
};

function setUp() {
  const clock = createFakeClock(START);
  const store = createMemoryStore();
  const messages: string[] = [];
  const connection = store.connect();
  store.connect().listen({ onMessage: (message) => messages.push(message), onGap() {} });
  const { cache, shared } = createReplica({ clock, random, store: connection, sealingKeys: [SECRET] });
  const load = async () => ({
    value: { name: 'alice' },
    expiresAt: START + 3_600_000,
    tags: ['user:u1', 'user:acme:alice', 'tenant:acme'],
  });
  const values = () =>
    Object.fromEntries([...store.values].map(([name, value]) => [name, value.toString('hex')]));
  return { clock, store, messages, cache, shared, load, values };
}

t.test('the name, the sealed bytes and the content of an entry are as recorded', async (t) => {
  const { cache, load, store, values } = setUp();
  await cache.lookup('the-token', load);
  await turn();
  const [[name = '', sealed = Buffer.alloc(0)] = []] = [...store.values];
  const inside: unknown = JSON.parse(opened(SECRET, sealed, [name]));
  const parts = ['entry', 'keystone', digestOf('the-token'), 'configuration'];
  t.equal(name, `stonegate:entry:${macOf(SECRET, parts)}`);
  t.equal(sealed[0], 1, 'the first byte is the version of the format');
  sameAsRecorded(t, 'redis/entry.json', asJSON({ values: values(), inside }));
});

t.test('the epochs of a drop and its message to the other replicas are as recorded', async (t) => {
  const { shared, values, store, messages } = setUp();
  await shared.drop(['user:acme:alice', 'tenant:acme', 'documents:acme', 'documents']);
  t.ok(store.values.has(`stonegate:epoch:${macOf(SECRET, ['tag', 'tenant:acme'])}`));
  t.ok(store.values.has(`stonegate:epoch:documents:${macOf(SECRET, ['tag', 'documents:acme'])}`));
  const records = Object.entries(values()).map(([name, hex]) => [name, Buffer.from(hex, 'hex').toString()]);
  const record = records.find(([name]) => name?.endsWith(macOf(SECRET, ['tag', 'tenant:acme'])))?.[1] ?? '';
  const [value = '', until = '', proof] = record.split('.');
  t.equal(proof, macOf(SECRET, ['epoch', macOf(SECRET, ['tag', 'tenant:acme']), value, until]));
  sameAsRecorded(t, 'redis/drop.json', asJSON({ records: Object.fromEntries(records), messages }));
});

t.test('the names of rate accounts, which all replicas must agree on, are as recorded', async (t) => {
  const key = createSealingKey(SECRET, random);
  sameAsRecorded(t, 'redis/rates.json', asJSON(accountKeys('stonegate:', key, 'acme', 'acme:alice')));
});
