/** Watches of single namespaces on an API server, and a client that reads a merged watch. */
import { PassThrough } from 'node:stream';
import type { UpstreamPartsStreamer } from '../../src/kubernetes/upstream-ports.ts';
import type { HeaderList } from '../../src/lib/header-list.ts';
import type { StreamedResponse } from '../../src/proxy/response/response-stream.ts';
import { eventually } from './eventually.ts';
import { readStream } from './response-stream.ts';

export interface OpenWatch {
  readonly namespace: string;
  readonly target: string;
  readonly body: PassThrough;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly kind?: string;
    readonly apiVersion?: string;
    readonly metadata?: {
      readonly name?: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly code?: number;
    readonly reason?: string;
  };
}

const POD = { kind: 'Pod', apiVersion: 'v1' };

export function event(type: string, namespace: string, name: string, revision: number): WatchEvent {
  return { type, object: { ...POD, metadata: { name, namespace, resourceVersion: String(revision) } } };
}

export function bookmark(revision: number, isInitialEnd = false): WatchEvent {
  const annotations = isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return {
    type: 'BOOKMARK',
    object: { ...POD, metadata: { resourceVersion: String(revision), ...annotations } },
  };
}

const JSON_HEADERS: HeaderList = [['Content-Type', 'application/json']];

export function createWatches() {
  const opened: OpenWatch[] = [];
  let refusal: Error | undefined;
  const faults = new Map<string, Error | { readonly status: number; readonly body?: string }>();

  function latest(namespace: string): PassThrough {
    const found = opened.findLast((watch) => watch.namespace === namespace);
    if (found === undefined) throw new Error(`no watch of ${namespace}`);
    return found.body;
  }

  const streamer: UpstreamPartsStreamer = {
    admitParts() {
      if (refusal !== undefined) throw refusal;
      return { stream, release() {} };
    },
  };

  async function stream({ target }: { readonly target: string }, signal: AbortSignal) {
    const namespace = /\/namespaces\/([^/]+)\//.exec(target)?.[1] ?? '';
    const fault = faults.get(namespace);
    if (fault instanceof Error) throw fault;
    const body = new PassThrough();
    body.on('error', () => {});
    signal.addEventListener('abort', () => body.destroy(new Error('aborted')));
    opened.push({ namespace, target, body });
    if (fault !== undefined) body.end(fault.body ?? '{"kind":"Status"}');
    return { status: fault?.status ?? 200, headers: JSON_HEADERS, body };
  }

  return {
    opened,
    faults,
    streamer,
    /** Refuses all watches from now on. */
    refuse(error: Error) {
      refusal = error;
    },
    latest,
    send: (namespace: string, ...events: readonly WatchEvent[]) =>
      latest(namespace).write(events.map((one) => `${JSON.stringify(one)}\n`).join('')),
    areClosed: () => opened.every(({ body }) => body.destroyed),
  };
}

export function readWatch(
  answer: Pick<StreamedResponse, 'start'>,
  options?: Parameters<typeof readStream>[1],
) {
  const stream = readStream(answer, options);
  const eventsIn = () => stream.lines.map((line): WatchEvent => JSON.parse(line)).map(named);
  return {
    /** The stream, for a test that reads slowly. */
    stream,
    get text() {
      return stream.text;
    },
    get ended() {
      return stream.ended;
    },
    /** `ADDED a/p1`, `BOOKMARK 5`, `ERROR 410`. */
    get events() {
      return eventsIn();
    },
    /** Simulates a client that disconnects. */
    leave: () => stream.leave(),
    until: (events: readonly string[]) =>
      eventually(() => JSON.stringify(eventsIn()) === JSON.stringify(events)),
  };
}

function named({ type, object }: WatchEvent) {
  if (type === 'ERROR') return `ERROR ${object.code}`;
  const { name, namespace, resourceVersion, annotations } = object.metadata ?? {};
  if (type !== 'BOOKMARK') return `${type} ${namespace}/${name}`;
  return `BOOKMARK ${resourceVersion}${annotations === undefined ? '' : ' end'}`;
}
