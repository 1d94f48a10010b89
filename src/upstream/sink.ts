/**
 * Where the response to a call goes, and how the call ended.
 */
import type { HeaderField } from '../lib/header-list.ts';
import type { Arrived } from '../http1/borrowed-chunk.ts';

export interface Flow {
  pause(): void;
  resume(): void;
}

/** Where the answer goes. A throw ends the call. */
export interface Sink {
  head(status: number, headers: HeaderField[], flow: Flow): void;
  data(piece: Arrived): void;
  end(): void;
  /**
   * The answer ended before its end, or there was none because its client left. A throw refuses the request.
   *
   * @returns how it ended for the caller
   */
  brokeOff(result: CallResult): CallResult;
}

export interface CallResult {
  /** 0 if the client left before there was one. */
  readonly status: number;
  readonly aborted: boolean;
}
