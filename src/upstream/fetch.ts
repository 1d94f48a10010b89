/**
 * Requests whose responses Stonegate itself uses (discovery, reviews): the whole response in memory, with a
 * limit.
 */
import { MAX_READ_RESPONSE, READ_RESPONSES } from '../api/memory-bounds.ts';
import type { Account } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import type { InactivityTimers } from '../http1/inactivity-timer.ts';
import { ByteBudget, TooLarge } from '../lib/byte-budget.ts';
import { fromAbortSignal } from '../lib/cancellation.ts';
import type { Clock } from '../lib/clock.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { type AccountLimits, budgetKeyOf } from './account-limits.ts';
import { callUpstream } from './call.ts';
import type { SelectPools } from './connection-pools.ts';
import { unavailable } from './failure.ts';
import { responseHeaders } from './header-rules.ts';
import { type ImpersonationRefusals, pause, REFUSAL_PAUSE } from './impersonation-refusal.ts';

/** One for all credentials and generations: the memory is the process's. */
const memory = new ByteBudget(READ_RESPONSES);

export interface FetcherOptions {
  readonly selectPools: SelectPools;
  readonly limits: AccountLimits;
  readonly responseTimeouts: InactivityTimers;
  readonly refusals: ImpersonationRefusals;
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
      const impersonationRefusalIn = ({ body: said }: UpstreamResponse) => refusals.read(said, headers);
      // Without an impersonated user any refusal is about Stonegate itself; the caller says what it means.
      const asItself = headerValue(headers, 'impersonate-user') === undefined;
      let response = await fetchOnce(request, signal, false);
      if (response.status !== 403 || sender.kind === 'client') return response;
      if (
        method === 'GET' &&
        body === undefined &&
        (asItself || impersonationRefusalIn(response) !== undefined)
      )
        response = await repeat(request, signal);
      const refusal = response.status === 403 ? impersonationRefusalIn(response) : undefined;
      if (refusal !== undefined) throw refusals.report(refusal);
      return response;
    },
  };
}

function createFetch({
  selectPools,
  limits,
  responseTimeouts,
}: FetcherOptions): (...call: [...Parameters<Fetch>, alreadyAccepted: boolean]) => ReturnType<Fetch> {
  return async ({ account, sender, method, target, headers, body }, signal, alreadyAccepted) => {
    const budgetKey = budgetKeyOf(account);
    const { short, token } = selectPools(sender);
    const content = body === undefined ? undefined : Buffer.from(body);
    const chunks: Buffer[] = [];
    let taken = 0;
    let refused: TooLarge | StatusError | undefined;
    let head: { status: number; headers: HeaderField[] } | undefined;
    const called = callUpstream(
      short,
      {
        method,
        target,
        headers,
        token,
        framing: content?.length ?? 'none',
        ...(content && { body: content }),
        limiter: limits.limiterOf(account, method, target),
        limits: 'connection',
        // Short, and most of it reviews, which change nothing.
        discardable: true,
        refusalIsClients: sender.kind === 'client',
        timeouts: responseTimeouts,
        alreadyAccepted,
        cancellation: fromAbortSignal(signal),
      },
      {
        head(status, received) {
          head = { status, headers: responseHeaders(status, received) };
        },
        data(piece) {
          if (taken + piece.length > MAX_READ_RESPONSE)
            refused = new TooLarge(`the response is over ${MAX_READ_RESPONSE} bytes`);
          else if (memory.tryReserve(budgetKey, piece.length)) taken += piece.length;
          else refused = noMemory(account);
          if (refused !== undefined) throw refused;
          chunks.push(piece.copy());
        },
        end() {},
        brokeOff: (result) => result,
      },
    );
    const { aborted } = await called.finally(() => memory.release(budgetKey, taken));
    if (refused instanceof StatusError) throw refused;
    if (aborted || head === undefined) {
      const brokenOff = refused ?? `the response to ${method} ${target} broke off`;
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
