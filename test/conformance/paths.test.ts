/**
 * Each request of a tenant in `arktos/paths.tsv`, observed on a real Arktos API server, is forwarded,
 * rewritten or refused as its row says.
 */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createPathBoundary } from '../../src/features/tenant-boundary/tenant-boundary.ts';
import type { UserInfo } from '../../src/kubernetes/authentication-v1.ts';
import type { Sender } from '../../src/kubernetes/upstream-request.ts';
import { runAuthorizers } from '../../src/proxy/authorizer.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { askedExchange } from '../support/fake-exchange.ts';
import { keystoneIdentity } from '../support/identities.ts';

interface Row {
  readonly method: string;
  readonly short: string;
  readonly action: string;
  readonly upstream: string;
  /** The real server's response to the impersonated user, or to Stonegate itself for discovery. */
  readonly status: number;
}

const rows: Row[] = readFileSync(new URL('./arktos/paths.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [method = '', short = '', action = '', upstream = '', , status = ''] = line.split('\t');
    return { method, short, action, upstream, status: Number(status) };
  });

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const boundary = createPathBoundary({ isSystem: mode.isSystem });
const tenant = toTenantName('tenant1');
const sender: Sender = { kind: 'stonegate' };
const identity = keystoneIdentity('root', { home: 'tenant1' });
const user: UserInfo = { username: 'tenant1:root', uid: '', groups: ['system:authenticated'], extra: {} };

/** The action of the table that Stonegate takes for the row's request, and the target it sends. */
async function outcome({ method, short }: Row) {
  try {
    const info = readRequestInfo(method, short, { hasTenantsInPaths: true });
    await runAuthorizers([boundary], {
      exchange: askedExchange(method),
      info,
      identity,
      user,
      tenant,
      sender,
    });
    const route = mode.route(info, method, tenant, user);
    const target = route.query === '' ? route.path : `${route.path}?${route.query}`;
    if (route.kind === 'discovery') return { action: 'D', target };
    return { action: target === short ? '=' : 'R', target };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { action: error.code, target: '' };
  }
}

const FORBIDDEN = new Set(['/', '/swagger.json', '/metrics', '/logs/', '/servers']);

t.equal(rows.length, 77, 'the table is complete');

for (const row of rows) {
  const { method, short, action, upstream, status } = row;
  t.test(`${method} ${short}: action ${action}`, async (t) => {
    const seen = await outcome(row);
    if (action === 'X') {
      t.equal(seen.action, FORBIDDEN.has(short) ? 'PathForbidden' : 'RequestMalformed');
      return;
    }
    if (seen.action === 'TenantForbidden') {
      t.match(short, /\/tenants\/(tenant2|all)\//);
      t.equal(status, 403, 'the real server refuses it too');
      return;
    }
    t.strictSame(seen, { action, target: upstream });
  });
}
