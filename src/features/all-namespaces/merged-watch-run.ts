/**
 * An open watch of several namespaces: reads the watches of the API server and writes their merged events.
 * It ends with 410 when the set of permitted namespaces is another: the client lists again, and sees what it
 * may see now. When the API server ends one of the watches, all end, and the client resumes.
 */
import type { Readable } from 'node:stream';
import { LineSplitter } from '../../kubernetes/line-splitter.ts';
import type { UpstreamStream } from '../../kubernetes/upstream-ports.ts';
import { type Clock, runAt, type Timer } from '../../lib/clock.ts';
import { MalformedJSON } from '../../lib/json-scan.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { AccessSubjects } from '../../proxy/access-subject.ts';
import { EXPIRED_EVENT } from '../../proxy/response/own-responses.ts';
import { recheckPeriodically } from '../../proxy/response/recheck.ts';
import type { ResponseStream } from '../../proxy/response/response-stream.ts';
import type { WatchLifetimes } from '../../proxy/response/watch-lifetimes.ts';
import type { AccessChanges, AccessFollower } from '../../rbac/access-changes.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { Change } from '../../rbac/change.ts';
import { type Concerns, keysOfSubject } from '../../rbac/subject-changes.ts';
import { MergedWatch } from './merge-watches.ts';
import { type AllNamespacesQuestion, permittedNamespaces } from './permitted-namespaces.ts';
import type { AllNamespacesRequest } from './request.ts';

export interface MergedWatchRunOptions {
  readonly request: AllNamespacesRequest;
  readonly subject: SubjectByNamespace;
  readonly question: AllNamespacesQuestion;
  /** The watches that are open, by namespace. */
  readonly parts: ReadonlyMap<string, UpstreamStream>;
  /** Ends all requests to the API server. */
  readonly close: () => void;
  /** Whether the API server's bookmarks say something about the watch that they are in. */
  readonly countsBookmarks: boolean;
  readonly lifetimes: WatchLifetimes;
  readonly access: AccessIndex;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
  readonly changes: AccessChanges;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Bytes of one event; an object at the API server is smaller. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Milliseconds over which the ends of watches are spread after a change. */
const SPREAD = 4_500;

export class MergedWatchRun implements AccessFollower {
  readonly concerns: Concerns;
  readonly namespacesOf: string;
  readonly #options: MergedWatchRunOptions;
  readonly #merged: MergedWatch;
  #stream: ResponseStream | undefined;
  #ends: (() => void)[] = [];
  #expiry: Timer | undefined;
  #isUndecided = true;

  constructor(options: MergedWatchRunOptions) {
    const { request, subject, question, parts, countsBookmarks } = options;
    const { allowWatchBookmarks, sendInitialEvents = false } = request.options;
    const { revision } = request;
    this.#options = options;
    this.concerns = { tenant: subject.cluster.tenant, keys: keysOfSubject(subject) };
    this.namespacesOf = question.tenant;
    this.#merged = new MergedWatch({
      namespaces: parts.keys(),
      revision: sendInitialEvents || revision === '0' ? undefined : revision,
      digits: request.permitted.digits,
      allowsBookmarks: allowWatchBookmarks,
      marksInitialEvents: sendInitialEvents,
      countsBookmarks,
    });
  }

  start(stream: ResponseStream): void {
    const { request, subject, access, lifetimes, changes, parts } = this.#options;
    this.#stream = stream;
    const end = () => this.#finish();
    const expire = () => this.#expire();
    access.stopped.addEventListener('abort', end);
    this.#ends = [
      changes.follow(this),
      lifetimes.begin(request.options.timeoutSeconds, end),
      recheckPeriodically(request.outgoing, subject, { ...this.#options, end: expire, expire }),
      () => access.stopped.removeEventListener('abort', end),
      () => this.#expiry?.cancel(),
    ];
    for (const [name, { body }] of parts) void this.#read(name, body);
    // The index may have changed while the watches were opened.
    this.decide();
    if (access.stopped.aborted) end();
  }

  /** Idempotent. */
  stop(): void {
    this.#stream = undefined;
    for (const end of this.#ends.splice(0)) end();
    this.#options.close();
  }

  changed(change: Change): boolean {
    this.#isUndecided ||= change.kind === 'access' || change.type !== 'MODIFIED';
    return this.#isUndecided;
  }

  reset(): void {
    this.#expire();
  }

  decide(): void {
    if (!this.#isUndecided) return;
    this.#isUndecided = false;
    const { access, subject, question, request } = this.#options;
    const now = permittedNamespaces(access.index, subject, question);
    if (now?.digits !== request.permitted.digits) this.#expire();
  }

  get #isOver(): boolean {
    return this.#stream === undefined || this.#expiry !== undefined;
  }

  async #read(name: string, body: Readable): Promise<void> {
    const lines = new LineSplitter(MAX_LINE_BYTES);
    try {
      for await (const piece of body) {
        const stream = this.#stream;
        // The API server is read no faster than the client reads.
        if (stream?.isWritable === false) await new Promise<void>((go) => stream.onDrain(go));
        // Nothing passes after the index knows that the user has lost a namespace.
        this.decide();
        if (this.#isOver || !Buffer.isBuffer(piece)) return;
        this.#pass(lines.take(piece).map((line) => this.#merged.take(name, line)));
      }
      if (lines.isWithinLine) throw new MalformedJSON('it ends within an event');
    } catch (error) {
      if (this.#isOver) return;
      this.#options.logger.warn(
        { error },
        'a watch of all namespaces ends, since the watch of one broke off',
      );
    }
    this.#finish();
  }

  #pass(steps: readonly ReturnType<MergedWatch['take']>[]): void {
    const passed = steps.flatMap(({ lines }) => lines);
    const isOver = steps.some((step) => step.isOver);
    const bookmark = isOver ? undefined : this.#merged.bookmark();
    if (bookmark !== undefined) passed.push(bookmark);
    if (passed.length > 0) this.#stream?.write(Buffer.concat(passed.flatMap((line) => [line, LINE_FEED])));
    if (isOver) this.#stream?.end();
  }

  /** The client has what its last bookmark says, and goes on from there. */
  #finish(): void {
    if (!this.#isOver) this.#stream?.end();
  }

  /** The end is delayed, since a change may concern the watches of many clients, which all list again. */
  #expire(): void {
    if (this.#isOver) return;
    const { clock, random } = this.#options;
    this.#expiry = runAt(clock, clock.now() + random.fraction() * SPREAD, () => {
      this.#stream?.write(EXPIRED_EVENT);
      this.#stream?.end();
    });
    this.#options.close();
  }
}

const LINE_FEED = Buffer.from('\n');
