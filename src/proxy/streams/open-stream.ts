/**
 * A long-running request that is open, and the credential it was opened with. Both keep only what is needed
 * to end the request when access ends: thousands of watches are open at once.
 */

import type { DropWatch } from '../../cache/drops.ts';
import { type StatusError, unauthorized } from '../../errors/status-error.ts';
import type { Credential } from '../../identity/credential.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { LongRunning, ResourceRequest, TenantName } from '../../kubernetes/request-info.ts';
import type { Cancellation } from '../../lib/cancellation.ts';
import type { StreamEndReason } from '../../observability/request-observer.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { Entry } from '../tenant-entry.ts';

export interface StreamFacts {
  readonly info: ResourceRequest;
  readonly kind: LongRunning;
  readonly tenant: TenantName;
  /**
   * The user whose credential is on the request, not the one that is impersonated; with all of their extras.
   */
  readonly user: UserInfo;
  /** What the credential alone proves. */
  readonly identity: Identity;
  /** Undefined on an anonymous request. */
  readonly credential: Credential | undefined;
  /** The client's address. */
  readonly source: string;
  /** When the request was received, before it was authenticated; in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Present if the user has entered another tenant. */
  readonly entry?: Entry;
}

/** One credential of one user, with all streams that were opened with it. */
export class StreamCredential {
  /** Equal for the same credential of the same user. */
  readonly key: string;
  readonly credential: Credential | undefined;
  readonly authenticator: string;
  readonly source: string;
  readonly tenant: TenantName;
  readonly username: string;
  readonly uid: string;
  /** The id, if the credential is an access token: the end of it ends all of its streams. */
  readonly accessToken: string | undefined;
  /** Milliseconds since the epoch; Infinity if the credential has no end. */
  readonly expiresAt: number;
  readonly streams = new Set<OpenStream>();
  /** When it is to be validated again, in milliseconds since the epoch. */
  dueAt = Number.POSITIVE_INFINITY;
  checking = false;
  /** Since when it could not be validated; undefined while it can. */
  unverifiedSince: number | undefined;
  /** Drops that end all streams of the credential. */
  endings: DropWatch | undefined;
  /**
   * Drops after which a valid credential is validated again. An expired one cannot be: its tunnels end.
   */
  revocations: DropWatch | undefined;

  constructor(key: string, { credential, identity, source, tenant, user }: StreamFacts) {
    this.key = key;
    this.credential = credential;
    this.authenticator = identity.authenticator;
    this.source = source;
    this.tenant = tenant;
    this.username = user.username;
    this.uid = identity.uid;
    this.accessToken = identity.accessToken?.id;
    this.expiresAt = identity.expiresAt;
  }

  /** A stream that is ended leaves the set later, when its request has ended. */
  end(reason: StreamEndReason): void {
    for (const stream of this.streams) stream.end(reason);
  }

  /** Ends the streams that clients open again by themselves, but no shell, which would be lost. */
  endAllButTunnels(reason: StreamEndReason): void {
    for (const stream of this.streams) if (!stream.tunnel) stream.end(reason);
  }
}

/** An open long-running request. The upstream uses it to end the request early. */
export class OpenStream implements Cancellation {
  readonly info: ResourceRequest;
  readonly kind: LongRunning;
  readonly user: UserInfo;
  readonly opener: StreamCredential;
  /** When its request was received, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Uniform in [0, 1): spreads the ends of streams that end for the same reason. */
  readonly fraction: number;
  /** Present if it is a guest's. */
  readonly entry: Entry | undefined;
  /** How many connections to the API server it holds. */
  connections = 1;
  #reason: StreamEndReason | undefined;
  #callback: (() => void) | undefined;

  constructor(
    { info, kind, user, receivedAt, entry }: StreamFacts,
    opener: StreamCredential,
    openedAt: number,
    fraction: number,
  ) {
    this.info = info;
    this.kind = kind;
    this.user = user;
    this.opener = opener;
    this.receivedAt = receivedAt;
    this.openedAt = openedAt;
    this.fraction = fraction;
    this.entry = entry;
    opener.streams.add(this);
  }

  /** A connection into a pod, a service or a node. */
  get tunnel(): boolean {
    return this.kind !== 'watch' && this.kind !== 'log';
  }

  /** Why Stonegate ended it; undefined while it lasts, and if its client or the API server ended it. */
  get reason(): StreamEndReason | undefined {
    return this.#reason;
  }

  get cancelled(): boolean {
    return this.#reason !== undefined;
  }

  /** Only a watch resumes after a clean end. A log that ends cleanly would be taken for complete. */
  get clean(): boolean {
    return this.kind === 'watch';
  }

  /** The client's response if it has not begun. */
  refusal(): StatusError {
    return unauthorized(`the request was ended before its response began: ${this.#reason}`);
  }

  /** There is at most one callback. */
  onCancel(callback: () => void): void {
    if (!this.cancelled) this.#callback = callback;
  }

  offCancel(callback: () => void): void {
    if (this.#callback === callback) this.#callback = undefined;
  }

  /** Only the first call counts. */
  end(reason: StreamEndReason): void {
    if (this.cancelled) return;
    this.#reason = reason;
    const callback = this.#callback;
    this.#callback = undefined;
    callback?.();
  }
}
