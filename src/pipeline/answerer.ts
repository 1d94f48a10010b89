/**
 * What Stonegate responds to by itself instead of forwarding: discovery, self reviews, its own API.
 */
import type { UpstreamResponse } from './ports.ts';
import type { Outgoing } from './request-state.ts';

export interface Answerer {
  /** @returns undefined, at once, if the request is not this answerer's: nearly every request */
  answer(outgoing: Outgoing): Promise<UpstreamResponse> | undefined;
}
