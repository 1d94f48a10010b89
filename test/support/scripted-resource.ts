/**
 * One resource of an API server, controlled by the test: lists get the given responses in order, and watches
 * stay open until the test ends them.
 */
import { PassThrough } from 'node:stream';
import { StatusError } from '../../src/errors/status-error.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../../src/kubernetes/upstream-ports.ts';
import { eventually } from './eventually.ts';

export type ListResponse =
  | { readonly items: readonly object[] | null; readonly revision?: string; readonly next?: string }
  | number
  | string
  | Error;

export const DOWN = new StatusError('UpstreamUnavailable', 'the API server cannot be reached at the moment');

export function scriptedResource() {
  const watches: ReturnType<typeof openWatch>[] = [];
  const lists: string[] = [];
  let script: readonly (ListResponse | Promise<ListResponse>)[] = [{ items: [], revision: '10' }];
  let refusals: (number | Error)[] = [];
  const upstream: UpstreamFetcher & UpstreamStreamer = {
    async fetch({ target }, signal) {
      signal.throwIfAborted();
      lists.push(target);
      const [given = 500, ...rest] = script;
      if (rest.length > 0) script = rest;
      const response = await unlessAborted(given, signal);
      if (response instanceof Error) throw response;
      return typeof response === 'number'
        ? { status: response, headers: [], body: Buffer.from('{}') }
        : { status: 200, headers: [], body: Buffer.from(listOf(response)) };
    },
    async stream({ target }, signal) {
      signal.throwIfAborted();
      const refusal = refusals.shift();
      if (refusal instanceof Error) throw refusal;
      const body = new PassThrough();
      body.on('error', () => {});
      if (typeof refusal === 'number') {
        body.end('{}');
        return { status: refusal, headers: [], body };
      }
      signal.addEventListener('abort', () => body.destroy(DOWN));
      watches.push(openWatch(target, body));
      return { status: 200, headers: [], body };
    },
  };
  return {
    upstream,
    lists,
    watches,
    /** Sets the responses to the next lists, in order; the last one is repeated. */
    listWith(...responses: readonly (ListResponse | Promise<ListResponse>)[]) {
      script = responses;
    },
    /** Sets the refusals of the next watches, in order; later watches are opened. */
    refuseWatches(...responses: readonly (number | Error)[]) {
      refusals = [...responses];
    },
    /** The watch with this number, counting from 1, once it is open. */
    async watch(number: number) {
      await eventually(() => watches.length >= number);
      const found = watches[number - 1];
      if (found === undefined) throw new Error('it is open');
      return found;
    },
  };
}

function openWatch(target: string, body: PassThrough) {
  return {
    target,
    query: new URLSearchParams(target.slice(target.indexOf('?'))),
    body,
    /** Whether the client has closed it. */
    get isClosed() {
      return body.destroyed;
    },
    send: (event: object | string) =>
      body.write(typeof event === 'string' ? event : `${JSON.stringify(event)}\n`),
    /** Ends it cleanly. */
    end: () => body.end(),
    breakOff: () => body.destroy(DOWN),
  };
}

function unlessAborted<T>(given: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    Promise.resolve(given).then(resolve, reject);
  });
}

export function listOf(response: Exclude<ListResponse, number | Error>) {
  if (typeof response === 'string') return response;
  const { items, revision = '10', next } = response;
  return JSON.stringify({
    kind: 'List',
    metadata: { resourceVersion: revision, ...(next !== undefined && { continue: next }) },
    items,
  });
}
