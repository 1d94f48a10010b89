/**
 * What Stonegate asks for answers of its own: the whole answer in memory, bounded, since discovery documents and
 * reviews are of known size and anything larger is not one.
 */
import type { Account } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import { fromAbortSignal } from '../lib/cancellation.ts';
import type { Clock } from '../lib/clock.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import { TooLarge } from '../lib/too-large.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import type { AccountLimits } from './account-limits.ts';
import { callUpstream } from './call.ts';
import type { DepartureOf } from './departures.ts';
import { unavailable } from './failure.ts';
import type { IdleTimers } from './idle-timer.ts';
import type { OwnRefusals } from './own-refusal.ts';
import { pause, REFUSAL_PAUSE } from './refusal-pause.ts';
import { responseHeaders } from './response-headers.ts';
import { ResponseMemory } from './response-memory.ts';

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export interface FetcherOptions {
  readonly departureOf: DepartureOf;
  readonly limits: AccountLimits;
  readonly patience: IdleTimers;
  readonly refusals: OwnRefusals;
  readonly clock: Clock;
  /** Counts requests that wait to be repeated: no connection knows of them. */
  readonly repeating: InFlightCounter;
}

type Fetch = UpstreamFetcher['fetch'];

export function createFetcher(options: FetcherOptions): UpstreamFetcher {
  const fetchOnce = createFetch(options);
  const { refusals, clock, repeating } = options;

  async function repeat(...[request, signal]: Parameters<Fetch>): Promise<UpstreamResponse> {
    const inFlight = repeating.enter();
    try {
      await pause(clock, REFUSAL_PAUSE);
      return await fetchOnce(request, signal, true);
    } finally {
      inFlight.release();
    }
  }

  return {
    async fetch(request, signal) {
      const { sender, headers, method, body } = request;
      const refusalOf = ({ body: said }: UpstreamResponse) => refusals.read(said, headers);
      // Without an impersonated user any refusal is about Stonegate itself; the caller says what it means.
      const asItself = headerValue(headers, 'impersonate-user') === undefined;
      let answer = await fetchOnce(request, signal, false);
      if (answer.status !== 403 || sender.kind === 'client') return answer;
      if (method === 'GET' && body === undefined && (asItself || refusalOf(answer) !== undefined))
        answer = await repeat(request, signal);
      const refusal = answer.status === 403 ? refusalOf(answer) : undefined;
      if (refusal !== undefined) throw refusals.report(refusal);
      return answer;
    },
  };
}

function createFetch({
  departureOf,
  limits,
  patience,
}: FetcherOptions): (...call: [...Parameters<Fetch>, takenOn: boolean]) => ReturnType<Fetch> {
  const memory = new ResponseMemory();
  return async ({ account, sender, method, target, headers, body }, signal, takenOn) => {
    const { brief, token } = departureOf(sender);
    const content = body === undefined ? undefined : Buffer.from(body);
    const chunks: Buffer[] = [];
    let taken = 0;
    let refused: TooLarge | StatusError | undefined;
    let head: { status: number; headers: HeaderField[] } | undefined;
    const called = callUpstream(
      brief,
      {
        method,
        target,
        headers,
        token,
        framing: content?.length ?? 'none',
        ...(content && { body: content }),
        limiter: limits.connectionsOf(account),
        limits: 'connection',
        // Short, and most of it reviews, which change nothing.
        discardable: true,
        refusalIsTheirs: sender.kind === 'client',
        patience,
        takenOn,
        cancellation: fromAbortSignal(signal),
      },
      {
        head(status, received) {
          head = { status, headers: responseHeaders(status, received) };
        },
        data(piece) {
          if (taken + piece.length > MAX_ANSWER_BYTES)
            refused = new TooLarge(`the answer is over ${MAX_ANSWER_BYTES} bytes`);
          else if (memory.take(account, piece.length)) taken += piece.length;
          else refused = noMemory(account);
          if (refused !== undefined) throw refused;
          chunks.push(piece.copy());
        },
        end() {},
        brokeOff: (result) => result,
      },
    );
    const { aborted } = await called.finally(() => memory.giveBack(account, taken));
    if (refused instanceof StatusError) throw refused;
    if (aborted || head === undefined) {
      const brokenOff = refused ?? `the answer to ${method} ${target} broke off`;
      throw unavailable(signal.aborted ? signal.reason : brokenOff);
    }
    return { ...head, body: Buffer.concat(chunks) };
  };
}

function noMemory({ kind }: Account): StatusError {
  const reason = 'too many large responses are read at once';
  if (kind === 'stonegate') return unavailable(reason);
  return new StatusError(
    kind === 'source' ? 'CredentialRateExceeded' : 'TenantRateExceeded',
    `Too many requests, please try again later: ${reason}`,
  );
}
