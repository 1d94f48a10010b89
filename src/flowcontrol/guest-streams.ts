/**
 * Ends the streams of guests when no policy permits them any more: after a change of the policies, and when
 * the policy ends by itself. The API server would not notice before the next request.
 */
import type { OpenStream } from './open-stream.ts';

/**
 * Whether a new request for the stream would be permitted now.
 *
 * @param now milliseconds since the epoch
 * @returns when the permission ends by itself; undefined if there is none
 */
export type StreamPermit = (stream: OpenStream, now: number) => { readonly notAfter?: number } | undefined;

/** Milliseconds: a permission that ends for another reason than a change is noticed too. */
const REPEAT = 4_000;

export class GuestStreams {
  readonly #streams: Iterable<OpenStream>;
  readonly #permit: StreamPermit;
  /** When each permission is looked at again; at once if it is not known. */
  #lookAt = new WeakMap<OpenStream, number>();

  /** @param streams of guests, all that are open at the time of each `look` */
  constructor(streams: Iterable<OpenStream>, permit: StreamPermit) {
    this.#streams = streams;
    this.#permit = permit;
  }

  /** All permissions are looked at again at the next `look`. */
  policiesChanged(): void {
    this.#lookAt = new WeakMap();
  }

  /** To be called every second. @param now milliseconds since the epoch */
  look(now: number): void {
    for (const stream of this.#streams) {
      if (stream.cancelled || (this.#lookAt.get(stream) ?? now) > now) continue;
      const permit = this.#permit(stream, now);
      if (permit === undefined) stream.end('policy');
      else this.#lookAt.set(stream, Math.min(permit.notAfter ?? Number.POSITIVE_INFINITY, now + REPEAT));
    }
  }
}
