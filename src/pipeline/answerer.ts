/**
 * The port to what Stonegate says itself instead of forwarding: discovery, self reviews, its own API.
 * Implemented in `tenancy/` and, for what needs the API server, given an UpstreamFetcher by the composition root.
 */
import type { HeaderList } from '../lib/header-list.ts';
import type { Outgoing } from './request-state.ts';

export interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  /** May be shared by many answers: it is only read. */
  readonly body: Buffer;
}

export interface Answerer {
  /** @returns undefined, at once, where the request is not this answerer's: nearly every request is nobody's */
  answer(outgoing: Outgoing): Promise<Answer> | undefined;
}
