/**
 * An API server of one resource as the test writes it, in front of a list and watch with a clock of the
 * test's: it stores objects, answers lists, and holds watches open until the test ends them.
 */
import { PassThrough } from 'node:stream';
import { TrackedIndex } from '../../src/access/index-state.ts';
import type { IndexedResource } from '../../src/api/rbac-v1.ts';
import { ListWatch } from '../../src/clients/list-watch.ts';
import { createRBACReader } from '../../src/clients/read-rbac-object.ts';
import { StatusError } from '../../src/errors/status-error.ts';
import type { LogFields, Logger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../../src/pipeline/ports.ts';
import { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { eventually } from './eventually.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';

export interface OpenWatch {
  readonly target: string;
  readonly query: URLSearchParams;
  readonly body: PassThrough;
  send(event: object | string): void;
  /** Ends it in good order. */
  end(): void;
  breakOff(): void;
}

export interface ScriptedAPI {
  readonly clock: FakeClock;
  readonly index: RBACIndex;
  readonly tracked: TrackedIndex;
  readonly watches: OpenWatch[];
  readonly lists: string[];
  /** How often the present revision was asked for. */
  readonly probes: number;
  /** The revision that the next probes tell; without one, that of the index. */
  tellRevision(revision: number | Error): void;
  readonly log: readonly { readonly level: string; readonly fields: LogFields; readonly message: string }[];
  /** `reason` of each list, and `failure` of each failure. */
  readonly counted: string[];
  /** What the next lists are answered with, one after the other; then the last one again. */
  listWith(...responses: readonly (Response | Promise<Response>)[]): void;
  /** What the next watches are answered with before they are opened; then they are opened. */
  refuseWatches(...responses: readonly (number | Error)[]): void;
  /** The watch with this number, counted from 1, once it is open. */
  watch(number: number): Promise<OpenWatch>;
  /** Runs the next timer that is due within this time. */
  elapse(milliseconds: number): Promise<void>;
  start(): void;
  reconnect(): void;
  prove(revision: number): void;
  stop(): Promise<void>;
}

export type Response =
  | { readonly items: readonly object[] | null; readonly revision?: string; readonly next?: string }
  | number
  | string
  | Error;

export const DOWN = new StatusError('UpstreamUnavailable', 'the API server cannot be reached at the moment');

export function scriptedAPI({ listedAtOnce }: { readonly listedAtOnce?: number } = {}): ScriptedAPI {
  const resource: IndexedResource = 'namespaces';
  const clock = createFakeClock(1_000_000);
  const index = new RBACIndex();
  const tracked = new TrackedIndex({ index, clock });
  const watches: OpenWatch[] = [];
  const lists: string[] = [];
  const log: { level: string; fields: LogFields; message: string }[] = [];
  const counted: string[] = [];
  let script: readonly (Response | Promise<Response>)[] = [{ items: [], revision: '10' }];
  let refusals: (number | Error)[] = [];
  const at = (level: string) => (fields: LogFields, message: string) => {
    log.push({ level, fields, message });
  };
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };

  let told: number | Error | undefined;
  let probes = 0;
  const probed = () => {
    probes += 1;
    if (told instanceof Error) throw told;
    const revision = String(told ?? index.revisionOf(resource) ?? 1);
    return { status: 200, headers: [], body: Buffer.from(bodyOf({ items: [], revision })) };
  };
  const upstream: UpstreamFetcher & UpstreamStreamer = {
    async fetch({ target }, signal) {
      signal.throwIfAborted();
      if (target.endsWith('?limit=1')) return probed();
      lists.push(target);
      const [given = 500, ...rest] = script;
      if (rest.length > 0) script = rest;
      const response = await given;
      if (response instanceof Error) throw response;
      return typeof response === 'number'
        ? { status: response, headers: [], body: Buffer.from('{}') }
        : { status: 200, headers: [], body: Buffer.from(bodyOf(response)) };
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
      watches.push({
        target,
        query: new URLSearchParams(target.slice(target.indexOf('?'))),
        body,
        send: (event) => body.write(typeof event === 'string' ? event : `${JSON.stringify(event)}\n`),
        end: () => body.end(),
        breakOff: () => body.destroy(DOWN),
      });
      return { status: 200, headers: [], body };
    },
  };
  const listWatch = new ListWatch({
    resource,
    path: '/things',
    reader: createRBACReader({ hasTenants: false }),
    index,
    upstream: () => upstream,
    ...(listedAtOnce !== undefined && { listedAtOnce }),
    onProof: () => tracked.proved(resource),
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger,
    telemetry: {
      ...noTelemetry,
      indexListed: (_resource, reason) => counted.push(reason),
      indexFailed: (_resource, failure) => counted.push(failure),
    },
  });
  let running: Promise<void> = Promise.resolve();

  return {
    clock,
    index,
    tracked,
    watches,
    lists,
    get probes() {
      return probes;
    },
    tellRevision(revision) {
      told = revision;
    },
    log,
    counted,
    listWith(...responses) {
      script = responses;
    },
    refuseWatches(...responses) {
      refusals = [...responses];
    },
    async watch(number) {
      await eventually(() => watches.length >= number);
      const found = watches[number - 1];
      if (found === undefined) throw new Error('it is open');
      return found;
    },
    async elapse(milliseconds) {
      await eventually(() => clock.untilNext <= milliseconds);
      clock.advance(milliseconds);
    },
    start() {
      running = listWatch.run();
    },
    reconnect: () => listWatch.reconnect(),
    prove: (revision) => listWatch.prove(revision),
    async stop() {
      listWatch.stop();
      await running;
    },
  };
}

function bodyOf(response: Exclude<Response, number | Error>): string {
  if (typeof response === 'string') return response;
  const { items, revision = '10', next } = response;
  return JSON.stringify({
    kind: 'List',
    metadata: { resourceVersion: revision, ...(next !== undefined && { continue: next }) },
    items,
  });
}

/** A namespace as in a list. */
export function ns(name: string, revision: number, more: object = {}): object {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(revision), ...more },
    status: { phase: 'Active' },
  };
}
