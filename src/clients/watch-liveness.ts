/**
 * Whether a watch is alive, and how long one lasts: an API server sends a bookmark every minute, and one
 * that sends none is listed every minute.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks
 */
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import { ListNeeded, WatchSilent } from './list-watch-failure.ts';
import type { Deadline } from './watchdog.ts';

/** Milliseconds in which a watch proves itself; kube-apiserver sends a bookmark every minute. */
export const FIRST_PROOF = 75_000;
/** Milliseconds between two lists, if the API server sends no bookmarks. */
export const LIST_INTERVAL = 60_000;
/** Milliseconds without a complete event, if the API server sends bookmarks. */
export const SILENCE = 90_000;
/** Seconds after which the API server ends a watch; by chance, up to twice as long. */
const WATCH_SECONDS = 300;
/** Without bookmarks, since kube-apiserver sends one shortly before the end. */
const PROBING_SECONDS = 58;

export class WatchLiveness {
  readonly #clock: Clock;
  readonly #random: Random;
  #bookmarks: 'unknown' | 'sent' | 'missing' = 'unknown';
  /** Both in milliseconds since the epoch. */
  #provenAt = 0;
  #beganAt = 0;

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Milliseconds since the list or watch began. */
  get lasted(): number {
    return this.#clock.now() - this.#beganAt;
  }

  get isListDue(): boolean {
    const age = this.#clock.now() - this.#provenAt;
    return this.#bookmarks === 'missing' && age >= PROBING_SECONDS * 1_000 - 5_000;
  }

  began(): void {
    this.#beganAt = this.#clock.now();
  }

  /** By a list, an event or a bookmark. */
  proved(): void {
    this.#provenAt = this.#clock.now();
  }

  bookmarkReceived(): void {
    this.#bookmarks = 'sent';
  }

  bookmarksMissing(): void {
    this.#bookmarks = 'missing';
  }

  /** Bookmarks may have ceased for good. */
  wasSilent(): void {
    this.#bookmarks = 'unknown';
  }

  /** The seconds for which a watch is requested. */
  seconds(): number {
    if (this.#bookmarks === 'missing') return PROBING_SECONDS;
    return WATCH_SECONDS + Math.floor(this.#random.fraction() * WATCH_SECONDS);
  }

  /** @returns when the watch ends unless something arrives, and how */
  deadline(touchedAt: number): Deadline {
    switch (this.#bookmarks) {
      case 'sent':
        return { at: touchedAt + SILENCE, error: new WatchSilent() };
      case 'unknown':
        return {
          at: Math.max(this.#provenAt, this.#beganAt) + FIRST_PROOF,
          error: new ListNeeded('no-bookmarks'),
        };
      case 'missing':
        return { at: this.#provenAt + LIST_INTERVAL, error: new ListNeeded('no-bookmarks') };
    }
  }
}
