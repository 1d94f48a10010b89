import t from 'tap';
import { type Account, STONEGATE_ACCOUNT } from '../../../src/api/upstream-request.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import {
  MAX_ACCOUNT_MEMORY,
  MAX_RESPONSE_MEMORY,
  ResponseMemoryBudget,
} from '../../../src/upstream/fetch.ts';

const tenant = (name: string): Account => ({ kind: 'tenant', tenant: toTenantName(name) });

t.test('a tenant takes no more than its part, and gives it back', async (t) => {
  const memory = new ResponseMemoryBudget();
  t.ok(memory.take(tenant('acme'), MAX_ACCOUNT_MEMORY));
  t.notOk(memory.take(tenant('acme'), 1));
  for (const account of [tenant('globex'), STONEGATE_ACCOUNT]) t.ok(memory.take(account, 1));
  memory.release(tenant('acme'), MAX_ACCOUNT_MEMORY);
  t.ok(memory.take(tenant('acme'), 1));
  t.equal(memory.held, 3);
});

t.test('all addresses from which unknown tokens come have one part together', async (t) => {
  const memory = new ResponseMemoryBudget();
  t.ok(memory.take({ kind: 'source', address: '192.0.2.1' }, MAX_ACCOUNT_MEMORY));
  t.notOk(memory.take({ kind: 'source', address: '192.0.2.2' }, 1));
});

t.test('all together take no more than there is', async (t) => {
  const memory = new ResponseMemoryBudget();
  for (let index = 0; index < MAX_RESPONSE_MEMORY / MAX_ACCOUNT_MEMORY; index += 1)
    t.ok(memory.take(tenant(`t${index}`), MAX_ACCOUNT_MEMORY));
  t.notOk(memory.take(STONEGATE_ACCOUNT, 1));
});
