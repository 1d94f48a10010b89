/**
 * On whose account a request to the API server runs: whose limits, queue and connections it uses. Every request has one,
 * so that a client's work is never done at the expense of other tenants.
 */
import type { TenantName } from './identity.ts';

export type Account =
  | { readonly kind: 'tenant'; readonly tenant: TenantName }
  /** Before the tenant is known: the client's address. */
  | { readonly kind: 'source'; readonly address: string }
  /** What Stonegate needs for itself: probes, shared documents, periodic provisioning. */
  | { readonly kind: 'stonegate' };

export const STONEGATE_ACCOUNT: Account = { kind: 'stonegate' };
