/** A program that is measured: TLS in front with the same certificate for all, and one core each. */
import type { Serving } from '../processes.ts';
import type { Site, UpstreamKind } from '../site.ts';

export interface StartOptions {
  readonly site: Site;
  readonly upstream: UpstreamKind;
  /** HTTP/2 is offered in front. */
  readonly http2?: boolean;
}

export interface Contender {
  readonly name: string;
  /** Why it cannot be started here; undefined where it can. */
  readonly missing?: string;
  start(options: StartOptions): Promise<Serving>;
}
