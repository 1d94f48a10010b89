/**
 * The API server as one object, with which the proxy forwards, tunnels, fetches and streams. A new
 * certificate or token makes a new one; the previous one finishes its requests.
 */

import type {
  Forwarder,
  Tunneller,
  UpstreamFetcher,
  UpstreamPartsStreamer,
  UpstreamStreamer,
} from '../kubernetes/upstream-ports.ts';
import { CancellationSource } from '../lib/cancellation.ts';
import { InFlightCounter } from '../lib/in-flight.ts';
import type { Runtime } from '../lib/runtime.ts';
import { TimeoutQueue } from '../lib/timeout-queue.ts';
import { type AccountLimitsOptions, createAccountLimits } from './account-limits.ts';
import type { CallContext } from './call-request.ts';
import { DISCARD_TIMEOUT } from './call-state.ts';
import { createConnectionPools } from './connection-pools.ts';
import { ownUserName, type UpstreamCredential } from './credential.ts';
import { createFetcher } from './fetch.ts';
import { createForwarder } from './forward.ts';
import { ImpersonationRefusals } from './impersonation-refusal.ts';
import type { ReviewedWritePermits } from './reviewed-write-permits.ts';
import { createStreamer } from './stream.ts';
import { createTunneller } from './tunnel.ts';

export type UpstreamLimits = Pick<AccountLimitsOptions, 'tenantQueue' | 'sources'>;

export interface UpstreamOptions extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  /** `https://host:port` */
  readonly server: string;
  /** PEM of the authorities for the API server's certificate; without it the system's. */
  readonly ca?: string | Buffer;
  readonly credential: UpstreamCredential;
  /** Whether requests with a client's own token occur; false without it. */
  readonly passThrough?: boolean;
  /** Milliseconds. */
  readonly timeouts: {
    /** TCP and TLS together. */
    readonly connect: number;
    /**
     * Limits the wait for a free connection, then the time from the request's last byte to the response's
     * first, and between two chunks. Does not apply to long-running requests.
     */
    readonly response: number;
    /** Limits the wait for the next bytes of a request body. */
    readonly body: number;
  };
  readonly maxBodyBytes: number;
  readonly limits: UpstreamLimits;
  /** Shared with other connections to the same API server; absent if there is no limit for writes. */
  readonly reviewedWrites?: ReviewedWritePermits | undefined;
}

export interface Upstream
  extends Forwarder,
    Tunneller,
    UpstreamFetcher,
    UpstreamStreamer,
    UpstreamPartsStreamer {
  /**
   * Takes no new requests; resolves when the last request and tunnel have ended and all connections are
   * closed.
   */
  close(): Promise<void>;
  /** Breaks off all requests and tunnels. */
  destroy(): Promise<void>;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  const { clock, logger, telemetry, timeouts, maxBodyBytes, credential, passThrough = false } = options;
  const connection = {
    server: options.server,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    connectTimeout: timeouts.connect,
  };
  const queueTimeout = timeouts.response;
  const pools = createConnectionPools({ connection, credential, passThrough, queueTimeout, clock, logger });
  const limits = createAccountLimits({
    clock,
    queueTimeout,
    reviewedWrites: options.reviewedWrites,
    ...options.limits,
  });
  const unpooled = new InFlightCounter();
  const destroyed = new CancellationSource();
  const context: CallContext = {
    selectPools: pools.select,
    limits,
    responseTimeouts: new TimeoutQueue(clock, timeouts.response),
    discardTimeouts: new TimeoutQueue(clock, DISCARD_TIMEOUT),
    refusals: new ImpersonationRefusals({ ownName: ownUserName(credential), clock, logger }),
    unpooled,
    clock,
    logger,
    telemetry,
  };
  return {
    ...createForwarder({ context, timeouts, maxBodyBytes }),
    ...createFetcher(context),
    ...createStreamer(context),
    ...createTunneller(context, destroyed),
    async close() {
      await pools.close();
      await unpooled.drained();
    },
    async destroy() {
      limits.destroy();
      destroyed.cancel();
      await pools.destroy();
    },
  };
}
