/**
 * The API server as one object: what the pipeline forwards, tunnels and fetches with. New TLS material or a new
 * token makes a new one; the old one finishes what it has.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { Forwarder, Tunneller, UpstreamFetcher } from '../pipeline/upstream.ts';
import type { CallContext } from './call.ts';
import { createPool, type UpstreamCredential } from './connection.ts';
import { createFetcher } from './fetch.ts';
import { createForwarder } from './forward.ts';
import { IdleTimers } from './idle-timer.ts';
import { createTunneller } from './tunnel.ts';

export interface UpstreamOptions {
  /** `https://host:port` */
  readonly server: string;
  /** PEM of the authorities the API server's certificate may come from; without it the system's. */
  readonly ca?: string | Buffer;
  readonly credential: UpstreamCredential;
  /** Milliseconds. */
  readonly timeouts: {
    /** TCP and TLS together. */
    readonly connect: number;
    /** From the request's last byte to the answer's first, and between chunks of an answer; not on long-running requests. */
    readonly response: number;
    /** For the next bytes of a request body the API server is waiting for. */
    readonly body: number;
  };
  readonly maxBodyBytes: number;
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

/**
 * Connections for requests that end by themselves, well below what an API server serves at once (600 by default). A
 * thousand people at once would else be a thousand TLS handshakes at once, which all come too late.
 */
const MAX_BRIEF = 256;

export function createUpstream(options: UpstreamOptions): Upstream {
  const { clock, logger, telemetry, timeouts, maxBodyBytes, credential } = options;
  const connection = {
    server: options.server,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    credential,
    connectTimeout: timeouts.connect,
  };
  const token = 'token' in credential ? credential.token : undefined;
  // Two pools, since undici looks for a free connection one by one: hundreds of open watches are not in its way.
  const brief: CallContext = { dispatcher: createPool(connection, MAX_BRIEF), clock, logger, telemetry };
  const lasting: CallContext = { dispatcher: createPool(connection, null), clock, logger, telemetry };
  const patience = new IdleTimers(clock, timeouts.response);
  const tunneller = createTunneller({ connection, token, timeouts, clock, logger, telemetry });
  return {
    ...createForwarder({
      patience,
      context: (longRunning) => (longRunning ? lasting : brief),
      token,
      timeouts,
      maxBodyBytes,
    }),
    ...createFetcher({ context: brief, token, patience }),
    tunnel: tunneller.tunnel,
    async close() {
      await Promise.all([brief.dispatcher.close(), lasting.dispatcher.close(), tunneller.idle()]);
    },
    async destroy() {
      tunneller.destroy();
      await Promise.all([brief.dispatcher.destroy(), lasting.dispatcher.destroy()]);
    },
  };
}
