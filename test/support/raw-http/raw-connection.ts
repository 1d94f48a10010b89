/**
 * One end of a TCP connection: a test waits for received text and sends exact bytes. Text is latin1.
 */
import { once } from 'node:events';
import net from 'node:net';

export class RawConnection {
  readonly socket: net.Socket;
  readonly closed: Promise<void>;
  #received = '';
  #changed = Promise.withResolvers<void>();
  #ended = false;

  constructor(socket: net.Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket
      .setEncoding('latin1')
      .on('data', (text: string) => {
        this.#received += text;
        this.#notify();
      })
      .on('end', () => {
        this.#ended = true;
        this.#notify();
      })
      // A reset is also reported as 'close'.
      .on('error', () => this.#notify())
      .on('close', () => this.#notify());
  }

  /** All text that has arrived. */
  get received() {
    return this.#received;
  }

  /** Whether the other end has sent its FIN. */
  get ended() {
    return this.#ended;
  }

  send(text: string) {
    this.socket.write(text, 'latin1');
  }

  /** Everything received, once it contains `part`. @throws Error if the connection closes first */
  async until(part: string) {
    for (;;) {
      if (this.#received.includes(part)) return this.#received;
      if (this.socket.destroyed)
        throw new Error(`closed before ${JSON.stringify(part)} came; got ${JSON.stringify(this.#received)}`);
      await this.#changed.promise;
    }
  }

  /** Everything received, once the other end has sent its FIN or the connection is closed. */
  async untilEnd() {
    while (!this.#ended && !this.socket.destroyed) await this.#changed.promise;
    return this.#received;
  }

  /** Breaks the connection with a TCP reset. */
  reset() {
    this.socket.resetAndDestroy();
  }

  #notify() {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Connects to loopback. */
export async function connectRaw(port: number): Promise<RawConnection> {
  const socket = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'connect');
  return new RawConnection(socket);
}
