/**
 * A request of the listener as the pipeline sees it, over either protocol. A class, since an object with getters that is
 * written out anew for each request is slow to make and slow to read.
 */
import type { Readable } from 'node:stream';
import type { ClientCertificate } from '../api/client-certificate.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { Leaving } from '../lib/leaving.ts';
import type { Exchange, ResponseWriter } from '../pipeline/exchange.ts';
import type { AnswerState } from './answer-state.ts';

type Given = Pick<
  Exchange,
  'method' | 'target' | 'headers' | 'httpVersion' | 'peerAddress' | 'body' | 'response'
> & { readonly clientCertificate: ClientCertificate | undefined };

export class ServedExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly httpVersion: string;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  readonly body: Readable;
  readonly response: ResponseWriter;
  readonly #state: AnswerState;

  constructor(given: Given, state: AnswerState) {
    this.method = given.method;
    this.target = given.target;
    this.headers = given.headers;
    this.httpVersion = given.httpVersion;
    this.peerAddress = given.peerAddress;
    this.clientCertificate = given.clientCertificate;
    this.body = given.body;
    this.response = given.response;
    this.#state = state;
  }

  get leaving(): Leaving {
    return this.#state;
  }

  get signal(): AbortSignal {
    return this.#state.signal;
  }

  get draining(): AbortSignal {
    return this.#state.draining;
  }
}
