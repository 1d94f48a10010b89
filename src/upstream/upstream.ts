/**
 * The API server as one object: what the pipeline forwards, tunnels and fetches with. New TLS material or a new
 * token makes a new one; the old one finishes what it has.
 */
import type { Clock } from '../lib/clock.ts';
import { InFlightCounter } from '../lib/in-flight.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { Forwarder, Tunneller, UpstreamFetcher } from '../pipeline/ports.ts';
import { type AccountLimitsOptions, createAccountLimits } from './account-limits.ts';
import type { UpstreamCredential } from './connection.ts';
import { createDepartures } from './departures.ts';
import { createFetcher } from './fetch.ts';
import { createForwarder } from './forward.ts';
import { IdleTimers } from './idle-timer.ts';
import { ownUserName } from './own-name.ts';
import { OwnRefusals } from './own-refusal.ts';
import { createTunneller } from './tunnel.ts';

export type UpstreamLimits = Pick<AccountLimitsOptions, 'tenantQueue' | 'sources'>;

export interface UpstreamOptions {
  /** `https://host:port` */
  readonly server: string;
  /** PEM of the authorities the API server's certificate may come from; without it the system's. */
  readonly ca?: string | Buffer;
  readonly credential: UpstreamCredential;
  /** Whether requests with a client's own token occur; false without it. */
  readonly passThrough?: boolean;
  /** Milliseconds. */
  readonly timeouts: {
    /** TCP and TLS together. */
    readonly connect: number;
    /**
     * From the request's last byte to the answer's first, and between chunks of an answer; before all that for a connection
     * to become free. Not on long-running requests.
     */
    readonly response: number;
    /** For the next bytes of a request body the API server is waiting for. */
    readonly body: number;
  };
  readonly maxBodyBytes: number;
  readonly limits: UpstreamLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface Upstream extends Forwarder, Tunneller, UpstreamFetcher {
  /** Takes nothing new; done when the last request and tunnel have ended, connections closed. */
  close(): Promise<void>;
  /** Breaks off everything under way. */
  destroy(): Promise<void>;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  const { clock, logger, telemetry, timeouts, maxBodyBytes, credential, passThrough = false } = options;
  const connection = {
    server: options.server,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    connectTimeout: timeouts.connect,
  };
  const context = { clock, logger, telemetry };
  const departures = createDepartures({
    connection,
    credential,
    passThrough,
    patience: timeouts.response,
    context,
  });
  const departureOf = departures.of;
  const limits = createAccountLimits({ clock, queueTimeout: timeouts.response, ...options.limits });
  const patience = new IdleTimers(clock, timeouts.response);
  const refusals = new OwnRefusals({ ownName: ownUserName(credential), clock, logger });
  const repeating = new InFlightCounter();
  const tunneller = createTunneller({ departureOf, limits, timeouts, refusals, ...context });
  return {
    ...createForwarder({ departureOf, limits, patience, timeouts, maxBodyBytes, refusals, repeating }),
    ...createFetcher({ departureOf, limits, patience, refusals, clock, repeating }),
    tunnel: tunneller.tunnel,
    async close() {
      await Promise.all([departures.close(), tunneller.idle()]);
      await repeating.drained();
    },
    async destroy() {
      limits.destroy();
      tunneller.destroy();
      await departures.destroy();
    },
  };
}
