/** What an authorizer decides about a request by alice, by default a user of the tenant acme. */
import type { Sender } from '../../src/kubernetes/upstream-request.ts';
import { type Authorizer, runAuthorizers } from '../../src/proxy/authorizer.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { askedExchange } from './fake-exchange.ts';
import { claimIdentity } from './identities.ts';

export interface AuthorizedRequest {
  readonly method?: string;
  readonly upgrade?: string | undefined;
  readonly tenant?: string;
  readonly sender?: Sender;
}

/** @returns the error; undefined if the request is allowed */
export async function refusalOf(
  authorizer: Authorizer,
  target: string,
  { method = 'GET', upgrade, tenant = 'acme', sender = { kind: 'stonegate' } }: AuthorizedRequest = {},
): Promise<unknown> {
  const username = tenant === 'system' ? 'system:stonegate:alice' : `${tenant}:alice`;
  try {
    await runAuthorizers([authorizer], {
      exchange: askedExchange(method, upgrade),
      info: readRequestInfo(method, target, { hasTenantsInPaths: true }),
      identity: claimIdentity('alice'),
      user: { username, uid: '', groups: [], extra: {} },
      tenant: toTenantName(tenant),
      sender,
    });
    return undefined;
  } catch (error) {
    return error;
  }
}
