/**
 * Opens the connections of a pool. TLS sessions are taken up again, within the pool alone: a session remembers the client
 * certificate it was made with.
 * RFC 8446 §2.2.
 */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { assertUsable, type ConnectionOptions, connect } from './connection.ts';

export interface Opening {
  /** Ends it with this error, unless it has ended. */
  giveUp(error: Error): void;
}

export interface Receiver {
  /** @param bytes that have arrived; lent until it returns */
  receive(bytes: Buffer): void;
}

/**
 * @param onOpened called once, with an error or when the first byte may be sent; never before it has returned. Returns who
 *   takes what arrives
 */
export type Connector = (onOpened: (opened: Socket | Error) => Receiver | undefined) => Opening;

class ConnectTimeout extends Error {
  readonly code = 'CONNECT_TIMEOUT';
}

/** @throws Error for options that no connection could be made with: now, rather than in the midst of other requests */
export function createConnector(options: ConnectionOptions, clock: Clock): Connector {
  assertUsable(options);
  let session: Buffer | undefined;
  return (onOpened) => {
    let done = false;
    let receiver: Receiver | undefined;
    const receive = (bytes: Buffer): void => {
      if (receiver === undefined) socket.destroy(new Error('bytes arrived before anything was asked'));
      else receiver.receive(bytes);
    };
    const socket = connect(options, { allowHalfOpen: false, session, receive }, () => settle(socket));
    const timer = clock.after(options.connectTimeout, () =>
      settle(new ConnectTimeout('connecting took too long')),
    );
    function settle(opened: Socket | Error): void {
      if (done) return;
      done = true;
      timer.cancel();
      if (opened instanceof Error) socket.destroy();
      receiver = onOpened(opened);
    }
    // The error listener stays: without one a later error would end the process.
    socket
      .on('error', settle)
      .once('close', () => settle(new Error('the connection was closed before it was made')));
    if (socket instanceof TLSSocket)
      socket.on('session', (renewed: Buffer) => {
        session = renewed;
      });
    return { giveUp: settle };
  };
}
