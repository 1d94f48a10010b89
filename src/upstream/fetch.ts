/**
 * Requests whose responses Stonegate itself uses (discovery, reviews): the whole response in memory, with a
 * limit.
 */

import { StatusError } from '../errors/status-error.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import type { Account } from '../kubernetes/upstream-request.ts';
import { fromAbortSignal } from '../lib/cancellation.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { ByteBudget, type Reservation, TooLarge } from '../limits/byte-budget.ts';
import { MAX_READ_RESPONSE, READ_RESPONSES } from '../limits/memory-bounds.ts';
import { budgetKeyOf } from './account-limits.ts';
import { callUpstream } from './call.ts';
import type { CallContext, ResponseSink } from './call-request.ts';
import { tooMany, unavailable } from './failure.ts';
import { responseHeaders } from './header-rules.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';

/** One for all credentials and generations: the memory is the process's. */
const memory = new ByteBudget(READ_RESPONSES);

export function createFetcher(context: CallContext): UpstreamFetcher {
  return {
    async fetch({ body: content, ...asked }, signal) {
      const request = { ...asked, servedByAPIServer: true };
      const body = content === undefined ? undefined : Buffer.from(content);
      const cancellation = fromAbortSignal(signal);
      // Short, and most of it reviews, which change nothing.
      const sending = { framing: body?.length ?? ('none' as const), body, cancellation, discardable: true };
      const whole = new WholeResponse(request.account, signal);
      try {
        await callUpstream(context, request, sending, whole);
        return whole.response;
      } finally {
        whole.release();
      }
    },
  };
}

class WholeResponse implements ResponseSink {
  readonly #account: Account;
  readonly #memory: Reservation;
  readonly #signal: AbortSignal;
  readonly #chunks: Buffer[] = [];
  #status = 0;
  #headers: HeaderField[] = [];
  #fault: StatusError | undefined;

  constructor(account: Account, signal: AbortSignal) {
    this.#account = account;
    this.#memory = memory.reservation(budgetKeyOf(account));
    this.#signal = signal;
  }

  get response(): UpstreamResponse {
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks) };
  }

  release(): void {
    this.#memory.release();
  }

  head(status: number, received: HeaderField[]): void {
    this.#status = status;
    this.#headers = responseHeaders(status, received);
  }

  data(chunk: BorrowedChunk): void {
    const bytes = this.#memory.bytes + chunk.length;
    if (bytes > MAX_READ_RESPONSE)
      this.#fault = unavailable(new TooLarge(`the response is over ${MAX_READ_RESPONSE} bytes`));
    else if (!this.#memory.resize(bytes)) this.#fault = noMemory(this.#account);
    if (this.#fault !== undefined) throw this.#fault;
    this.#chunks.push(chunk.copy());
  }

  end(): void {}

  brokeOff(): never {
    throw this.#fault ?? unavailable(this.#signal.aborted ? this.#signal.reason : 'the response broke off');
  }
}

function noMemory({ kind }: Account): StatusError {
  const reason = 'too many large responses are read at once';
  if (kind === 'stonegate') return unavailable(reason);
  return new StatusError(
    kind === 'source' ? 'CredentialRateExceeded' : 'TenantRateExceeded',
    tooMany(reason),
  );
}
