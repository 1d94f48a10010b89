/**
 * What a call asks of the API server, for whom, and with how much patience.
 */
import type { Readable } from 'node:stream';
import type { HeaderList } from '../lib/header-list.ts';
import type { Leaving } from '../lib/leaving.ts';
import type { IdleTimers } from './idle-timer.ts';
import type { Framing } from './outgoing-headers.ts';
import type { SeatsOfTenant } from './tenant-seats.ts';

export interface CallRequest {
  readonly method: string;
  readonly target: string;
  /** Complete but for the credential and framing. */
  readonly headers: HeaderList;
  /** The sender's; undefined where our client certificate speaks for us. */
  readonly token: string | undefined;
  readonly framing: Framing;
  /** At hand, or made when it is needed, given what to tell when it cannot go on. Absent where the framing is `none`. */
  readonly body?: Buffer | ((onFault: (fault: Error) => void) => Readable) | undefined;
  /** Where it has to have one before it may take a connection. */
  readonly seats?: SeatsOfTenant | undefined;
  /** Whether a 401 is the client's own: a workload answers, or the client's token was refused. */
  readonly refusalIsTheirs: boolean;
  /** For the answer's head, and between its chunks; without it there is no limit. */
  readonly patience?: IdleTimers | undefined;
  /** Who wants the answer. */
  readonly leaving: Leaving;
}
