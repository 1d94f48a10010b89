/**
 * A request that nobody sent, for the stages to decide about. There is nobody to answer either: whoever tries has
 * mistaken a question for a request.
 */
import { PassThrough, Readable } from 'node:stream';
import type { ExplanationRequest } from '../api/stonegate-v1alpha1.ts';
import type { Exchange, ResponseWriter } from './ports.ts';

/** From where the explanation is asked for. */
export interface Asker {
  readonly peerAddress: string | undefined;
  readonly signal: AbortSignal;
}

export function describedExchange(
  { request, token }: ExplanationRequest['spec'],
  { peerAddress, signal }: Asker,
): Exchange {
  const { method, path, upgrade } = request;
  const headers = (request.headers ?? []).map(([name, value]) => [name, asSent(value)] as const);
  return {
    method,
    target: path,
    headers: token === undefined ? headers : [...headers, ['Authorization', `Bearer ${token}`]],
    httpVersion: '1.1',
    peerAddress,
    body: Readable.from([]),
    response: NOBODY,
    signal,
    ...(upgrade !== undefined && {
      upgrade: { protocol: upgrade.toLowerCase(), socket: new PassThrough(), head: Buffer.alloc(0) },
    }),
  };
}

/** A listener sees bytes where the description has text. */
function asSent(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

function nobody(): never {
  throw new Error('a request that is only explained cannot be answered');
}

const NOBODY: ResponseWriter = {
  headersSent: false,
  closed: false,
  writeHead: nobody,
  write: nobody,
  onDrain: nobody,
  end: nobody,
  destroy: nobody,
};
