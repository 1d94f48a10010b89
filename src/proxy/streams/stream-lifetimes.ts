/**
 * Ends long-running requests when access ends. The API server decides a user's rights only when such a
 * request begins, and knows nothing of the credential behind Stonegate: without this, a deleted user's watch
 * would go on for ever. `docs/lifecycle.md` has the table of what ends when.
 */

import { endStreamsOfTenantTag, endStreamsOfUserTag, tenantTag, userTag } from '../../cache/drop-tags.ts';
import type { Drops } from '../../cache/drops.ts';
import type { Timer } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { StreamEndReason } from '../../observability/request-observer.ts';
import type { OpenStream, StreamCredential } from './open-stream.ts';
import type { StreamRegistry } from './stream-registry.ts';

export interface StreamSettings {
  /** Whether a watch or a followed log ends when its credential expires, if that is no access token. */
  readonly endWithCredential: boolean;
  /** A credential is validated again after this time at the earliest, in milliseconds. */
  readonly recheck: number;
  /** The longest life of all other streams, in milliseconds. */
  readonly tunnelMaxAge: number;
}

export interface StreamLifetimesOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly registry: StreamRegistry;
  readonly settings: StreamSettings;
  readonly drops: Drops;
  /**
   * Validates the credential again, and ends those of its streams that it does not allow any more. Rejects if
   * it cannot be validated now.
   */
  readonly recheck: (credential: StreamCredential) => Promise<void>;
  /** Whether the policies in force permit a guest's stream. @param now milliseconds since the epoch */
  readonly permits: (stream: OpenStream, now: number) => boolean;
  readonly random: Pick<Random, 'fraction'>;
}

/** All in milliseconds. Between two checks of all streams. */
const CHECK_INTERVAL = 1_000;
/** Streams end this long after their credential at most, spread by chance: their clients return at once. */
const EXPIRY_SPREAD = 10_000;
/** The most of the credential's remaining life, as a share, by which streams end after it. */
const EXPIRY_SHARE = 0.1;
/** All credentials are validated again over this time after a reload or a revocation. */
const PROMPT_SPREAD = 5_000;
/** The share by which the time between two validations varies, so that they spread. */
const JITTER = 0.2;
/** A validation that could not be made is repeated after this share of `recheck`. */
const RETRY = 0.25;
/** Validations of one authenticator at once: requests of clients must find room in the backend. */
const MAX_RECHECKS = 4;

export class StreamLifetimes {
  settings: StreamSettings;
  readonly #options: StreamLifetimesOptions;
  #drops: Drops;
  /** The number of drops at the last check. */
  #dropCount: number;
  /** When another configuration came into force, or a drop was last noticed: milliseconds since the epoch. */
  #changedAt = Number.NEGATIVE_INFINITY;
  /** Bounds validations, with a key for each authenticator. */
  readonly #rechecks: KeyedSemaphore;
  readonly #stopped = new AbortController();
  #timer: Timer | undefined;

  constructor(options: StreamLifetimesOptions) {
    this.settings = options.settings;
    this.#options = options;
    this.#drops = options.drops;
    this.#dropCount = this.#drops.count;
    this.#rechecks = new KeyedSemaphore({
      clock: options.clock,
      permits: Number.POSITIVE_INFINITY,
      permitsPerKey: MAX_RECHECKS,
      queue: Number.POSITIVE_INFINITY,
      queuePerKey: Number.POSITIVE_INFINITY,
      refusal: () => new Error('streams are no longer validated'),
    });
    const { registry } = options;
    registry.onOpen = (stream) => this.#begin(stream);
  }

  /** Another configuration is in force. All credentials are validated by it. */
  reloaded(settings: StreamSettings, drops: Drops): void {
    this.settings = settings;
    const replaced = drops !== this.#drops;
    this.#drops = drops;
    if (replaced) this.#dropCount = drops.count;
    this.#changedAt = this.#options.clock.now();
    for (const credential of this.#options.registry.credentials) {
      if (replaced) this.#watchDrops(credential);
      this.#recheckSoon(credential);
    }
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#stopped.abort();
  }

  #begin(stream: OpenStream): void {
    const { opener } = stream;
    if (opener.endings === undefined) {
      this.#watchDrops(opener);
      this.#recheckAfter(opener, this.settings.recheck);
    }
    // It was authenticated before the change, while its credential was in no list.
    if (stream.receivedAt <= this.#changedAt) this.#recheckSoon(opener);
    if (stream.tunnel && opener.expiresAt < Number.POSITIVE_INFINITY)
      opener.revocations ??= this.#drops.watch(revocationTags(opener));
    this.#timer ??= this.#options.clock.after(this.#interval, this.#checkAll);
  }

  get #interval(): number {
    return Math.min(CHECK_INTERVAL, this.settings.recheck);
  }

  #watchDrops(credential: StreamCredential): void {
    credential.endings = this.#drops.watch(endingTags(credential));
    if (credential.revocations !== undefined)
      credential.revocations = this.#drops.watch(revocationTags(credential));
  }

  readonly #checkAll = (): void => {
    const { clock, registry } = this.#options;
    const now = clock.now();
    const { count } = this.#drops;
    const hasDrops = count !== this.#dropCount;
    this.#dropCount = count;
    if (hasDrops) this.#changedAt = now;
    this.#endForbiddenGuests(now);
    for (const credential of registry.credentials) {
      if (hasDrops) this.#handleDrops(credential, now);
      this.#endDue(credential, now);
      if (credential.dueAt <= now) void this.#recheck(credential);
    }
    this.#timer = registry.size === 0 ? undefined : clock.after(this.#interval, this.#checkAll);
  };

  /** Every credential is validated again: those that a cache still knows cost their backend nothing. */
  #handleDrops(credential: StreamCredential, now: number): void {
    const expired = credential.expiresAt <= now;
    const revoked = credential.revocations?.isDropped;
    if (credential.endings?.isDropped || (expired && revoked)) {
      this.#end(credential, 'dropped');
      return;
    }
    if (revoked) this.#watchDrops(credential);
    this.#recheckSoon(credential);
  }

  #endDue(credential: StreamCredential, now: number): void {
    for (const stream of credential.streams) {
      if (this.#endsWithCredential(stream) && expiryOf(stream) <= now) stream.end('expired');
      else if (stream.tunnel && stream.openedAt + this.settings.tunnelMaxAge <= now) stream.end('max-age');
    }
  }

  /** After a change of the policies, or when a policy ends by itself: the API server would not notice. */
  #endForbiddenGuests(now: number): void {
    const { registry, permits } = this.#options;
    for (const stream of registry.guests)
      if (!stream.cancelled && !permits(stream, now)) stream.end('policy');
  }

  /** An access token is made for a time, whereas a user with another credential renews it meanwhile. */
  #endsWithCredential({ opener, tunnel }: OpenStream): boolean {
    return opener.accessToken !== undefined || (this.settings.endWithCredential && !tunnel);
  }

  #end(credential: StreamCredential, reason: StreamEndReason): void {
    const { authenticator, tenant, username } = credential;
    this.#options.logger.info({ reason, authenticator, tenant, user: username }, 'streams are ended');
    credential.end(reason);
    // A new stream may be opened before the last of these has ended.
    this.#watchDrops(credential);
  }

  #recheckSoon(credential: StreamCredential): void {
    const { clock, random } = this.#options;
    const spread = Math.min(PROMPT_SPREAD, this.settings.recheck);
    credential.dueAt = Math.min(credential.dueAt, clock.now() + spread * random.fraction());
  }

  #recheckAfter(credential: StreamCredential, milliseconds: number): void {
    const { clock, random } = this.#options;
    credential.dueAt = clock.now() + milliseconds * (1 + JITTER * random.fraction());
  }

  /** Never rejects. */
  async #recheck(credential: StreamCredential): Promise<void> {
    if (credential.checking) return;
    credential.checking = true;
    const { signal } = this.#stopped;
    const semaphore = this.#rechecks.of(credential.authenticator);
    if (!(await semaphore.acquire(signal))) return;
    this.#recheckAfter(credential, this.settings.recheck);
    try {
      // Its last stream may have ended while it waited.
      if (credential.streams.size > 0) await this.#validate(credential);
      credential.unverifiedSince = undefined;
    } catch (error) {
      this.#unverified(credential, error);
    } finally {
      credential.checking = false;
      semaphore.release();
    }
  }

  async #validate(credential: StreamCredential): Promise<void> {
    const expired = credential.expiresAt <= this.#options.clock.now();
    const { endings, revocations } = credential;
    if ((await endings?.confirmDropped()) || (expired && (await revocations?.confirmDropped())))
      this.#end(credential, 'dropped');
    else if (!expired) await this.#options.recheck(credential);
  }

  /** The credential cannot be validated: its backend is slow, or down for longer than its cache bridges. */
  #unverified(credential: StreamCredential, error: unknown): void {
    const { clock, logger } = this.#options;
    const { recheck } = this.settings;
    const now = clock.now();
    credential.unverifiedSince ??= now;
    logger.info(
      { error, authenticator: credential.authenticator },
      "a stream's credential could not be validated",
    );
    // An outage of a backend is no revocation, so it ends no tunnel.
    if (now - credential.unverifiedSince >= recheck) credential.endAllButTunnels('unverified');
    // A change while this validation was under way has asked for the next one soon.
    const { dueAt } = credential;
    this.#recheckAfter(credential, recheck * RETRY);
    credential.dueAt = Math.min(credential.dueAt, dueAt);
  }
}

function expiryOf({ opener: { expiresAt }, openedAt, fraction }: OpenStream): number {
  return expiresAt + fraction * Math.min(EXPIRY_SPREAD, EXPIRY_SHARE * (expiresAt - openedAt));
}

function usersOf({ username, uid }: StreamCredential): string[] {
  return uid === '' ? [username] : [username, uid];
}

function endingTags(credential: StreamCredential): string[] {
  return [...usersOf(credential).map(endStreamsOfUserTag), endStreamsOfTenantTag(credential.tenant)];
}

function revocationTags(credential: StreamCredential): string[] {
  return [...usersOf(credential).map(userTag), tenantTag(credential.tenant)];
}
