/**
 * How often the API server calls a webhook: its client for each URL and CA bundle has client-go’s default
 * limit, which all writers share. Calls wait in order of arrival, and go on waiting if the writer’s client
 * disconnects.
 */
import type { Clock } from '../../../src/lib/clock.ts';

const PER_SECOND = 5;
const BURST = 10;
const INTERVAL = 1_000 / PER_SECOND;

export class WebhookRate {
  readonly #clock: Clock;
  /** Client → the time at which its bucket is full again, in milliseconds. */
  readonly #full = new Map<string, number>();
  /** The user and URL of each write that waits. */
  readonly waiting: { readonly url: string; readonly user: string }[] = [];
  /** The user and URL of each write that was or is about to be reviewed, in the order of the calls. */
  readonly calls: { readonly url: string; readonly user: string }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the webhook may be called. */
  async take(url: string, caBundle: string, user: string) {
    const call = { url, user };
    const client = `${url} ${caBundle}`;
    const now = this.#clock.now();
    const full = Math.max(this.#full.get(client) ?? 0, now) + INTERVAL;
    this.#full.set(client, full);
    const wait = full - BURST * INTERVAL - now;
    if (wait > 0) {
      this.waiting.push(call);
      await new Promise<void>((resolve) => this.#clock.after(wait, resolve));
      this.waiting.splice(this.waiting.indexOf(call), 1);
    }
    this.calls.push(call);
  }
}
