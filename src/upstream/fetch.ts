/**
 * What Stonegate asks for answers of its own: the whole answer in memory, bounded, since discovery documents and
 * reviews are of known size and anything larger is not one.
 */
import type { Clock } from '../lib/clock.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import { leavingOf } from '../lib/leaving.ts';
import { TooLarge } from '../lib/too-large.ts';
import type { UpstreamAnswer, UpstreamFetcher } from '../pipeline/upstream.ts';
import { callUpstream } from './call.ts';
import type { DepartureOf } from './departures.ts';
import { unavailable } from './failure.ts';
import type { IdleTimers } from './idle-timer.ts';
import type { OwnRefusals } from './own-refusal.ts';
import { pause, REFUSAL_PAUSE } from './refusal-pause.ts';
import { responseHeaders } from './response-headers.ts';

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export interface FetcherOptions {
  readonly departureOf: DepartureOf;
  readonly patience: IdleTimers;
  readonly refusals: OwnRefusals;
  readonly clock: Clock;
}

type Fetch = UpstreamFetcher['fetch'];

export function createFetcher(options: FetcherOptions): UpstreamFetcher {
  const fetchOnce = createFetch(options);
  const { refusals, clock } = options;
  return {
    async fetch(request, signal) {
      const { sender, headers, method, body } = request;
      const refusalOf = ({ body: said }: UpstreamAnswer) => refusals.read(said, headers);
      // Without an impersonated user any refusal is about Stonegate itself; the caller says what it means.
      const asItself = headerValue(headers, 'impersonate-user') === undefined;
      let answer = await fetchOnce(request, signal);
      if (answer.status !== 403 || sender.kind === 'client') return answer;
      if (method === 'GET' && body === undefined && (asItself || refusalOf(answer) !== undefined)) {
        await pause(clock, REFUSAL_PAUSE);
        answer = await fetchOnce(request, signal);
      }
      const refusal = answer.status === 403 ? refusalOf(answer) : undefined;
      if (refusal !== undefined) throw refusals.report(refusal);
      return answer;
    },
  };
}

function createFetch({ departureOf, patience }: FetcherOptions): Fetch {
  return async ({ sender, method, target, headers, body }, signal) => {
    const { brief, token } = departureOf(sender);
    const content = body === undefined ? undefined : Buffer.from(body);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let tooLarge: TooLarge | undefined;
    let head: { status: number; headers: HeaderField[] } | undefined;
    const { aborted } = await callUpstream(
      brief,
      {
        method,
        target,
        headers,
        token,
        framing: content?.length ?? 'none',
        ...(content && { body: content }),
        refusalIsTheirs: sender.kind === 'client',
        patience,
        leaving: leavingOf(signal),
      },
      {
        head(status, received) {
          head = { status, headers: responseHeaders(status, received) };
        },
        data(piece) {
          bytes += piece.length;
          if (bytes > MAX_ANSWER_BYTES) {
            tooLarge = new TooLarge(`the answer is over ${MAX_ANSWER_BYTES} bytes`);
            throw tooLarge;
          }
          chunks.push(piece.copy());
        },
        end() {},
        brokeOff: (result) => result,
      },
    );
    if (aborted || head === undefined) {
      const brokenOff = tooLarge ?? `the answer to ${method} ${target} broke off`;
      throw unavailable(signal.aborted ? signal.reason : brokenOff);
    }
    return { ...head, body: Buffer.concat(chunks) };
  };
}
