/**
 * What every request from Stonegate to the API server states: the account that its limits, queue and
 * connections are charged to, and whose credential it carries.
 */

import { JSON_TYPE } from './meta-v1.ts';
import type { TenantName } from './request-info.ts';

/** Every request has an account, so that no tenant's requests use up the connections of other tenants. */
export type Account =
  | {
      readonly kind: 'tenant';
      readonly tenant: TenantName;
      /** Present for the tenant's users in other tenants, who have a share of the tenant's connections. */
      readonly guests?: true;
    }
  /** The client's address, before the tenant is known. */
  | { readonly kind: 'source'; readonly address: string }
  /** Stonegate itself: probes, shared documents, periodic provisioning. */
  | { readonly kind: 'stonegate' };

export const STONEGATE_ACCOUNT: Account = { kind: 'stonegate' };

/**
 * Whose credential a request to the API server carries. `stonegate`: Stonegate's own, on its own behalf or
 * with impersonation headers. `client`: the client's own token, and no impersonation headers. Every request
 * states it explicitly; there is no default.
 */
export type Sender =
  | { readonly kind: 'stonegate' }
  | {
      readonly kind: 'client';
      /** A bearer token that the API server has validated by TokenReview. */
      readonly token: string;
    };

/** A request for JSON that Stonegate makes for itself. */
export function ownGet(target: string, accept = JSON_TYPE) {
  return {
    account: STONEGATE_ACCOUNT,
    sender: { kind: 'stonegate' },
    method: 'GET',
    target,
    headers: [['Accept', accept]],
  } as const;
}
