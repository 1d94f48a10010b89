/**
 * All long-running requests of this process. They are counted by user and by tenant, since each holds a
 * connection to the API server for as long as it lasts; and they are found by credential, since access that
 * ends must end them (`stream-lifetimes.ts`). Pure bookkeeping, and one for the process: a reload changes the
 * limits alone.
 */

import { digestOf } from '../../cache/credential-digest.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Credential } from '../../identity/credential.ts';
import { LONG_RUNNING, type TenantName } from '../../kubernetes/request-info.ts';
import type { Clock } from '../../lib/clock.ts';
import { defineCounter } from '../../lib/metric.ts';
import type { Random } from '../../lib/random.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { STREAM_END_REASONS } from '../../observability/request-observer.ts';
import { OpenStream, StreamCredential, type StreamFacts } from './open-stream.ts';

export const STREAMS_ENDED = defineCounter({
  name: 'stonegate_streams_ended_total',
  help: 'Long-running requests that Stonegate ended before the client or the API server did.',
  labels: { kind: LONG_RUNNING, reason: STREAM_END_REASONS },
});

export interface StreamLimits {
  /** Streams of one user. */
  readonly perUser: number;
  /** Streams of one tenant's users together. */
  readonly perTenant: number;
}

export interface StreamRegistryOptions {
  readonly limits: StreamLimits;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly telemetry: Pick<Telemetry, 'count'>;
}

/** How much of a tenant's streams all of its users in other tenants may have together. */
const GUESTS_SHARE = 1 / 4;

export class StreamRegistry {
  /** The limits of the configuration in force. Streams beyond a lowered limit go on. */
  limits: StreamLimits;
  /** Called with each that is opened. */
  onOpen: (stream: OpenStream) => void = () => {};
  readonly #options: StreamRegistryOptions;
  readonly #credentials = new Map<string, StreamCredential>();
  /** Streams by tenant and name of the user. */
  readonly #users = new Map<string, number>();
  readonly #tenants = new Map<string, number>();
  readonly #guests = new Set<OpenStream>();
  /** Streams of guests, by their own tenant. */
  readonly #guestsOf = new Map<string, number>();
  #size = 0;

  constructor(options: StreamRegistryOptions) {
    this.limits = options.limits;
    this.#options = options;
  }

  /** @throws StatusError StreamLimitExceeded if the user or the tenant has as many as it may */
  open(facts: StreamFacts): OpenStream {
    const { tenant, user, credential, entry } = facts;
    const userKey = userKeyOf(tenant, user.username);
    const ofGuests = this.#guestsOf.get(tenant) ?? 0;
    if (entry !== undefined && ofGuests >= GUESTS_SHARE * this.limits.perTenant)
      throw tooMany('in other tenants, the tenant', tenant, ofGuests);
    this.#count(tenant, user.username, 1);
    const key = `${userKey}\n${digestOfCredential(credential)}`;
    const { clock, random } = this.#options;
    const opener = this.#credentials.get(key) ?? new StreamCredential(key, facts);
    this.#credentials.set(key, opener);
    this.#size += 1;
    const stream = new OpenStream(facts, opener, clock.now(), random.fraction());
    if (entry !== undefined) {
      this.#guests.add(stream);
      this.#guestsOf.set(tenant, ofGuests + 1);
    }
    this.onOpen(stream);
    return stream;
  }

  /**
   * The stream holds as many connections as this: a watch of all namespaces has one for each namespace.
   *
   * @throws StatusError StreamLimitExceeded if the user or the tenant may not have that many
   */
  widen(stream: OpenStream, connections: number): void {
    const { tenant, username } = stream.opener;
    this.#count(tenant, username, connections - stream.connections);
    stream.connections = connections;
  }

  /** Removes a stream whose request has ended. Call it once. */
  close(stream: OpenStream): void {
    const { opener, kind, reason } = stream;
    opener.streams.delete(stream);
    if (opener.streams.size === 0) this.#credentials.delete(opener.key);
    subtract(this.#users, userKeyOf(opener.tenant, opener.username), stream.connections);
    subtract(this.#tenants, opener.tenant, stream.connections);
    if (this.#guests.delete(stream)) subtract(this.#guestsOf, opener.tenant, 1);
    this.#size -= 1;
    if (reason !== undefined) this.#options.telemetry.count(STREAMS_ENDED, { kind, reason });
  }

  /** The streams of guests. */
  get guests(): Iterable<OpenStream> {
    return this.#guests;
  }

  get size(): number {
    return this.#size;
  }

  /** The credentials that have an open stream. */
  get credentials(): Iterable<StreamCredential> {
    return this.#credentials.values();
  }

  #count(tenant: TenantName, username: string, more: number): void {
    const userKey = userKeyOf(tenant, username);
    const ofUser = this.#users.get(userKey) ?? 0;
    const ofTenant = this.#tenants.get(tenant) ?? 0;
    if (ofUser + more > this.limits.perUser) throw tooMany('the user', username, ofUser);
    if (ofTenant + more > this.limits.perTenant) throw tooMany('the tenant', tenant, ofTenant);
    this.#users.set(userKey, ofUser + more);
    this.#tenants.set(tenant, ofTenant + more);
  }
}

/** Neither a tenant nor a user has a line feed in its name. */
function userKeyOf(tenant: string, username: string): string {
  return `${tenant}\n${username}`;
}

function digestOfCredential(credential: Credential | undefined): string {
  switch (credential?.kind) {
    case 'bearer':
    case 'x-auth-token':
      return digestOf(credential);
    case 'basic':
      return digestOf(`${credential.userName}:${credential.password}`);
    case 'certificate':
      return credential.certificate.verified ? credential.certificate.fingerprint : 'unverified';
    case undefined:
      return 'anonymous';
  }
}

function subtract(counts: Map<string, number>, key: string, count: number): void {
  const left = (counts.get(key) ?? 0) - count;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}

function tooMany(what: string, name: string, count: number): StatusError {
  return new StatusError(
    'StreamLimitExceeded',
    `Too many requests, please try again later: ${what} ${JSON.stringify(name)} has ${count} watches, followed logs and connections open`,
  );
}
