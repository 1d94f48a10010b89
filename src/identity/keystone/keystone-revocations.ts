/**
 * Polls `GET /v3/OS-REVOKE/events` (role `service`), which lists tokens that were revoked before their
 * expiry. The list is incomplete, so it shortens the delay of a revocation and replaces no other limit. Each
 * poll starts a minute before the last one in Keystone's time, since its servers' clocks and writes differ.
 * https://docs.openstack.org/api-ref/identity/v3-ext/#list-revocation-events
 */

import { hash } from 'node:crypto';
import { z } from 'zod';
import { Backoff } from '../../lib/backoff.ts';
import type { Timer } from '../../lib/clock.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { RevocationEvent } from '../../tenancy/keystone-v3.ts';
import { keystoneUnavailable } from './keystone-http.ts';
import { instantSchema, readAs } from './keystone-response.ts';
import type { KeystoneService } from './keystone-service.ts';

/** All in milliseconds. */
const OVERLAP = 60_000;
const LONGEST_PAUSE = 60_000;
const eventsSchema = z.array(z.record(z.string(), z.unknown()));
const revokedAtSchema = instantSchema.nullish();

export interface RevocationsOptions extends Pick<Runtime, 'clock' | 'logger' | 'random'> {
  readonly service: KeystoneService;
  /** Milliseconds from one poll to the next. */
  readonly interval: number;
  /** How far back the first poll reaches, in milliseconds: the longest lifetime of older cache entries. */
  readonly reach: number;
  /** Applies an event. If it throws, it is repeated at the next poll, and other events are still applied. */
  readonly revoked: (event: RevocationEvent) => Promise<void>;
}

export interface Revocations {
  start(): void;
  /** No poll starts after it. */
  stop(): void;
}

/**
 * @param since milliseconds since the epoch
 * @throws StatusError KeystoneUnavailable
 */
export async function readRevocationEvents(service: KeystoneService, since: number) {
  const response = await service.get({
    path: `/OS-REVOKE/events?since=${timestamp(since)}`,
    to: 'read revocation events',
    needs: 'the role service',
  });
  if (response === undefined) throw keystoneUnavailable('this Keystone has no revocation events');
  return { events: readAs(eventsSchema, response.body.events, 'events'), date: response.date };
}

export function createRevocations(options: RevocationsOptions): Revocations {
  const { service, interval, clock, random, logger } = options;
  /** Digest → time of revocation, of events that the next response may repeat. */
  const done = new Map<string, number>();
  let since = clock.now() - options.reach - OVERLAP;
  const backoff = new Backoff({ first: interval, longest: Math.max(interval, LONGEST_PAUSE), random });
  let failing = false;
  let timer: Timer | undefined;
  let stopped = false;

  async function poll(): Promise<void> {
    const asked = clock.now();
    const { events, date } = await readRevocationEvents(service, since);
    await carryOut(events.map((fields) => readEvent(fields, asked)));
    since = (date ?? asked) - OVERLAP;
    for (const [digest, revokedAt] of done) if (revokedAt < since - OVERLAP) done.delete(digest);
  }

  /** @throws the first failure, after all events have been tried */
  async function carryOut(events: readonly RevocationEvent[]): Promise<void> {
    const failures: unknown[] = [];
    for (const event of events) {
      if (done.has(event.digest)) continue;
      try {
        await options.revoked(event);
        done.set(event.digest, event.revokedAt);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async function run(): Promise<void> {
    try {
      await poll();
      if (failing) logger.info({}, "Keystone's revocation events are followed again");
      failing = false;
      backoff.reset();
    } catch (error) {
      if (!failing && !stopped)
        logger.error(
          { error },
          "Keystone's revocation events cannot be followed; the caches' times alone hold",
        );
      failing = true;
    }
    if (stopped) return;
    // Jitter: replicas that start together must not poll together.
    const pause = failing ? backoff.next() : interval * (0.9 + 0.2 * random.fraction());
    timer = clock.after(pause, () => void run());
  }

  return {
    start: () => void run(),
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** Unknown fields are ignored, which widens the event: the remaining ids match more tokens. */
function readEvent(fields: JSONObject, now: number): RevocationEvent {
  return {
    digest: hash('sha256', JSON.stringify(Object.entries(fields).sort(byName)), 'base64url'),
    revokedAt: readAs(revokedAtSchema, fields.revoked_at, 'revoked_at') ?? now,
    auditID: idOf(fields.audit_id),
    auditChainID: idOf(fields.audit_chain_id),
    trustID: idOf(fields['OS-TRUST:trust_id']),
    userID: idOf(fields.user_id),
    projectID: idOf(fields.project_id),
    domainID: idOf(fields.domain_id),
  };
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}
