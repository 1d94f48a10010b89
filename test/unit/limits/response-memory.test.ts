/** Memory that Stonegate's own responses take from a tenant's share until its clients have read them. */
import t from 'tap';
import { ResponseMemory } from '../../../src/limits/response-memory.ts';

const memoryOf = () => new ResponseMemory({ total: 250, perKey: 100 });
const response = (bytes: number) => ({ status: 200, body: Buffer.alloc(bytes) });

t.test('a tenant over its share gets a 429 until a response is read; other tenants are not affected', (t) => {
  const memory = memoryOf();
  const { release } = memory.charged('acme', response(80));
  t.throws(() => memory.charged('acme', response(21)), { code: 'TenantRateExceeded', http: 429 });
  const other = memory.charged('globex', response(100));
  memory.charged('initech', response(70));
  t.throws(
    () => memory.charged('hooli', response(1)),
    { code: 'TenantRateExceeded' },
    'the bound on all tenants together',
  );
  release();
  release();
  other.release();
  t.equal(memory.reserved, 70, 'each response is released once');
  memory.charged('acme', response(100));
  t.end();
});

t.test('a response over a tenant’s whole share is a 413 that says what to do', (t) => {
  t.throws(() => memoryOf().charged('acme', response(101)), {
    code: 'ListTooLarge',
    message: /request it in pages/,
  });
  t.end();
});

t.test('a body that several responses share counts once for each tenant', (t) => {
  const memory = memoryOf();
  const shared = response(60);
  const held = ['acme', 'acme', 'globex'].map((tenant) => memory.charged(tenant, shared));
  t.equal(memory.reserved, 120);
  held[0]?.release();
  t.equal(memory.reserved, 120, 'another response still uses it');
  held[1]?.release();
  held[2]?.release();
  t.equal(memory.reserved, 0);
  t.end();
});
