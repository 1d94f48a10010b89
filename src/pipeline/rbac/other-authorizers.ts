/**
 * Authorizers of the API server beside Node and RBAC, such as a webhook: the RBAC index does not know what
 * they allow. A review counts for a minute, and for one revision of the index.
 */
import { createHash } from 'node:crypto';
import type { AccessIndex } from '../../access/ports.ts';
import type { ResourceAttributes } from '../../api/authorization-v1.ts';
import { type AccessReviewer, isAllowed, reviewSubject } from '../../authorization/access-reviewer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { Outgoing } from '../request-context.ts';

/** Those that were made last. */
const MAX_REVIEWS = 1_000;
/** Milliseconds for which a review counts: another authorizer may decide otherwise at any time. */
const TTL = 60_000;

export interface OtherAuthorizersOptions {
  /** Undefined if RBAC alone authorizes users. */
  readonly reviewer: AccessReviewer | undefined;
  readonly mode: Pick<TenancyMode, 'reviewTenant'>;
  readonly access: { readonly index: Pick<AccessIndex['index'], 'revision'> };
  readonly clock: Clock;
}

/** The user as whom a request would be sent. */
export type SendingUser = Pick<Outgoing, 'user' | 'sender' | 'tenant' | 'crossing' | 'exchange'>;

export class OtherAuthorizers {
  readonly #options: OtherAuthorizersOptions;
  /** The oldest first. */
  readonly #reviews = new Map<string, { readonly allowed: boolean; readonly at: number }>();

  constructor(options: OtherAuthorizersOptions) {
    this.#options = options;
  }

  /**
   * Whether the API server allows what RBAC does not.
   *
   * @param attributes without a tenant: the user's own
   * @throws StatusError as the reviewer does
   */
  async allow(request: SendingUser, attributes: ResourceAttributes): Promise<boolean> {
    const { user, exchange } = request;
    const { reviewer, mode, access, clock } = this.#options;
    if (reviewer === undefined) return false;
    const subject = reviewSubject(request, mode.reviewTenant);
    const { home } = subject;
    const resourceAttributes = { ...(home !== undefined && { tenant: home }), ...attributes };
    const key = createHash('sha256')
      .update(JSON.stringify([access.index.revision, home, request.tenant, user, resourceAttributes]))
      .digest('base64url');
    const known = this.#reviews.get(key);
    const at = clock.now();
    if (known !== undefined && known.at + TTL > at) return known.allowed;
    const allowed = await isAllowed(reviewer, subject, { resourceAttributes }, exchange.signal);
    this.#store(key, { allowed, at });
    return allowed;
  }

  #store(key: string, review: { readonly allowed: boolean; readonly at: number }): void {
    this.#reviews.delete(key);
    this.#reviews.set(key, review);
    const [oldest] = this.#reviews.keys();
    if (this.#reviews.size > MAX_REVIEWS && oldest !== undefined) this.#reviews.delete(oldest);
  }
}
