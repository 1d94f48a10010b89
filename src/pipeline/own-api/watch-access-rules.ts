/**
 * A watch of a user's access rules: the document, then each other document, at most one per second. It ends
 * with the credential, and after an hour at most, as the API server ends watches too.
 */
import { accessTable } from '../../access/rules/access-table.ts';
import {
  type RulesDocument,
  type RulesDocuments,
  selfAccessRules,
} from '../../access/rules/rules-document.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { ResponseMemory } from '../../flowcontrol/response-memory.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { timestamp } from '../../lib/kubernetes-time.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { AccessSubjects } from '../rbac/access-subject.ts';
import { acceptedForm } from '../request/accepted-types.ts';
import type { Outgoing } from '../request-context.ts';
import type { AnswerStream, StreamedAnswer } from '../response/answer-stream.ts';
import type { WatchLifetimes } from '../response/watch-lifetimes.ts';
import type { RulesRequest } from './rules-request.ts';

/** Milliseconds from a change to its event. */
const COALESCE = 1_000;
/** Milliseconds after which the document is made anew without a change: roles, staleness and its validity. */
const PERIOD = 60_000;

export interface AccessRulesOptions {
  readonly documents: RulesDocuments;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
  readonly clock: Clock;
  readonly responseMemory: Pick<ResponseMemory, 'charged'>;
  readonly lifetimes: WatchLifetimes;
}

/** What the watch begins with. */
export interface RulesWatchRequest extends RulesRequest {
  readonly subject: SubjectByNamespace;
  readonly document: RulesDocument;
}

export function watchRules(
  outgoing: Outgoing,
  request: RulesWatchRequest,
  options: AccessRulesOptions,
): StreamedAnswer {
  const form = acceptedForm(outgoing.exchange.headers);
  return {
    status: 200,
    headers: [
      ['Content-Type', JSON_TYPE],
      ['Cache-Control', 'no-cache, private'],
    ],
    start(stream) {
      const watch = new RulesWatch({ ...options, outgoing, request, stream, form });
      watch.start();
      return () => watch.stop();
    },
  };
}

export function shownAs(document: RulesDocument, form: 'json' | 'table'): object {
  return form === 'table' ? accessTable(document.status) : selfAccessRules(document);
}

interface RulesWatchOptions extends Omit<AccessRulesOptions, 'responseMemory'> {
  readonly outgoing: Outgoing;
  readonly request: RulesWatchRequest;
  readonly stream: AnswerStream;
  readonly form: 'json' | 'table';
}

class RulesWatch {
  readonly #options: RulesWatchOptions;
  #subject: SubjectByNamespace;
  #shown: string | undefined;
  #next: { readonly timer: Timer; readonly at: number } | undefined;
  #ends: (() => void)[] = [];
  #unsubscribe = () => {};
  /** Another document waits until the client has read. */
  #isBehind = false;
  #isOver = false;
  #isRefreshing = false;

  constructor(options: RulesWatchOptions) {
    this.#options = options;
    this.#subject = options.request.subject;
  }

  start(): void {
    const { documents, lifetimes, request, stream } = this.#options;
    const { access } = documents;
    if (access.stopped.aborted) {
      stream.end();
      return;
    }
    access.stopped.addEventListener('abort', this.#onStopped);
    this.#ends = [
      lifetimes.begin(request.timeoutSeconds, () => stream.end()),
      () => this.#unsubscribe(),
      () => access.stopped.removeEventListener('abort', this.#onStopped),
      () => this.#next?.timer.cancel(),
    ];
    this.#follow();
    this.#show(request.document);
    // A change may have come before the watch followed it.
    const isCurrent = documents.cache.known(request.subject, request.selection) !== undefined;
    this.#refreshIn(isCurrent ? PERIOD : COALESCE);
  }

  stop(): void {
    this.#isOver = true;
    for (const end of this.#ends.splice(0)) end();
  }

  readonly #onStopped = () => this.#options.stream.end();

  #follow(): void {
    this.#unsubscribe();
    const { cache } = this.#options.documents;
    this.#unsubscribe = cache.watch(this.#subject, () => this.#refreshIn(COALESCE));
  }

  #refreshIn(milliseconds: number): void {
    if (this.#isOver) return;
    const { clock } = this.#options;
    const at = clock.now() + milliseconds;
    if (this.#next !== undefined && this.#next.at <= at) return;
    this.#next?.timer.cancel();
    this.#next = { at, timer: clock.after(milliseconds, () => void this.#refresh()) };
  }

  /** One at a time: an older document is never shown after a newer one. Never rejects. */
  async #refresh(): Promise<void> {
    // A client that has read is not waited for: the planned one would begin a second series of them.
    this.#next?.timer.cancel();
    this.#next = undefined;
    if (this.#isRefreshing) {
      this.#refreshIn(COALESCE);
      return;
    }
    this.#isRefreshing = true;
    try {
      this.#subject = await this.#options.subjects.subjectOf(this.#options.outgoing);
      if (!this.#isOver) {
        // The user may have other groups now.
        this.#follow();
        const document = await this.#document();
        if (!this.#isOver) this.#show(document);
      }
    } catch (error) {
      // The document that the client has runs out.
      if (!(error instanceof StatusError)) this.#options.stream.fail(error);
      else if (error.code === 'TenantRateExceeded') this.#refreshIn(COALESCE);
    }
    this.#isRefreshing = false;
    this.#refreshIn(PERIOD);
  }

  #document(): Promise<RulesDocument> {
    const { documents, request, outgoing } = this.#options;
    return documents.documentOf({
      subject: this.#subject,
      selection: request.selection,
      expiresAt: outgoing.identity.expiresAt,
      signal: outgoing.exchange.signal,
    });
  }

  /** A client that is behind is shown the document of the time when it has read. */
  #show(document: RulesDocument): void {
    const { stream, request, form } = this.#options;
    if (!stream.isWritable) {
      if (this.#isBehind) return;
      this.#isBehind = true;
      stream.onDrain(() => {
        this.#isBehind = false;
        void this.#refresh();
      });
      return;
    }
    if (document.digest !== this.#shown) {
      const type = this.#shown === undefined ? 'ADDED' : 'MODIFIED';
      this.#shown = document.digest;
      this.#write(type, shownAs(document, form));
    } else if (request.bookmarks) this.#write('BOOKMARK', bookmarkOf(document));
  }

  #write(type: string, object: object): void {
    this.#options.stream.write(`${JSON.stringify({ type, object })}\n`);
  }
}

/** Says that the last document still counts, and until when. */
function bookmarkOf({ status, validUntil }: RulesDocument): object {
  const { revision } = status;
  return {
    kind: 'SelfAccessRules',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null, resourceVersion: revision },
    status: { revision, validUntil: timestamp(validUntil) },
  };
}
