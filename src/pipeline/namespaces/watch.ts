/**
 * The filtered watch of namespaces: what it begins with, and how long it lasts.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
 */

import { responseForm } from '../../access/lists/response-form.ts';
import type { LoggedChange } from '../../access/namespaces/change-log.ts';
import { startNamespaceWatch } from '../../access/namespaces/namespace-watch.ts';
import type { VisibleNamespaces } from '../../access/namespaces/visible-namespaces.ts';
import { fingerprintOfSubject } from '../../access/subject-changes.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Timer } from '../../lib/clock.ts';
import type { AnswerStream, StreamedAnswer } from '../response/answer-stream.ts';
import { expiredEvent } from '../response/expired-event.ts';
import { confirmationOf } from './confirmation.ts';
import { missedSince } from './missed-changes.ts';
import {
  type NamespacesRequest,
  type NamespacesState,
  nameReviews,
  viewOf,
  waitForRevision,
} from './request.ts';

/** If names are confirmed by reviews: a review is then no older than this. */
const CONFIRMED_TIMEOUT = 5 * 60_000;
/** Milliseconds between two looks at roles that are looked up. */
const RECHECK = 60_000;

/** Of a name in a watch whose names are confirmed: the reviews, and what is shown. */
const CONFIRMED_BYTES = 400;

/** @throws StatusError RequestMalformed, NotAcceptable, ResourceVersionTooLarge, TenantRateExceeded */
export async function watchVisible(
  request: NamespacesRequest,
  state: NamespacesState,
): Promise<StreamedAnswer> {
  const { outgoing, info, options, selection, tenant } = request;
  const { access, clock, changes, lifetimes } = state;
  const form = responseForm(outgoing.exchange.headers, info.rawQuery, { verb: 'watch', kind: 'Namespace' });
  const { resourceVersion = 0, sendInitialEvents, allowWatchBookmarks } = options;
  // An event may have shown a revision that not all resources have reached.
  if (resourceVersion > changes.known || sendInitialEvents === true)
    await waitForRevision(resourceVersion, request, state);
  const reviews = nameReviews(request, state);
  const confirmation = reviews && (await confirmationOf(request, state, reviews));
  const bytesPerName = confirmation === undefined ? 0 : CONFIRMED_BYTES;
  if (!state.views.hasRoomFor(viewOf(request, state), bytesPerName)) throw tooManyNames();
  const isResumed = sendInitialEvents !== true && resourceVersion > 0;
  const longest = reviews === undefined ? Number.POSITIVE_INFINITY : CONFIRMED_TIMEOUT;
  return {
    status: 200,
    headers: [
      ['Content-Type', JSON_TYPE],
      ['Cache-Control', 'no-cache, private'],
    ],
    start(stream) {
      // Not before: what no watch uses may have been dropped in the meantime.
      const view = viewOf(request, state);
      const start = beginning(request, state, view);
      if (start === undefined || (isResumed && confirmation?.isUncertain)) {
        stream.write(tooOld(resourceVersion, access.index.revision));
        stream.end();
        return () => {};
      }
      const release = state.views.hold(view, bytesPerName, () => stream.end());
      if (release === undefined) {
        stream.end();
        return () => {};
      }
      const finished = lifetimes.begin(options.timeoutSeconds, () => stream.end(), longest);
      const stop = startNamespaceWatch(stream, {
        access,
        view,
        selection,
        form,
        hasTenants: tenant !== '',
        clock,
        start,
        marksInitialEvents: sendInitialEvents === true,
        allowsBookmarks: allowWatchBookmarks,
        ...(confirmation && { confirmation: confirmation.begin(view) }),
      });
      const stopRechecks = recheckUser(stream, view, request, state);
      return () => {
        finished();
        stopRechecks();
        stop();
        release();
      };
    },
    // With other groups the client would go on with the namespaces of before.
    expired: () => tooOld(resourceVersion, access.index.revision),
  };
}

/**
 * Groups that depend on the namespace are looked up again from time to time; other groups are as old as the
 * stream's credential, which is validated again elsewhere. If Keystone cannot be asked, they count as
 * unchanged.
 *
 * @returns ends it
 */
function recheckUser(
  stream: AnswerStream,
  view: VisibleNamespaces,
  { outgoing, options: { resourceVersion = 0 } }: NamespacesRequest,
  { subjects, clock, access }: NamespacesState,
): () => void {
  if (outgoing.proven.assignmentsOf === undefined) return () => {};
  let timer: Timer;
  const expire = () => {
    stream.write(tooOld(resourceVersion, access.index.revision));
    stream.end();
  };
  const later = () => {
    timer = clock.after(RECHECK, () => {
      subjects.subjectOf(outgoing).then(
        (subject) => {
          if (stream.closed) return;
          if (fingerprintOfSubject(subject) === fingerprintOfSubject(view.subject)) later();
          else expire();
        },
        (error: unknown) => {
          if (stream.closed) return;
          if (error instanceof StatusError && error.code === 'KeystoneUnavailable') later();
          else expire();
        },
      );
    });
  };
  later();
  return () => timer.cancel();
}

/** @returns undefined if it is not known any more what the client has seen */
function beginning(
  { options }: NamespacesRequest,
  state: NamespacesState,
  view: VisibleNamespaces,
): 'all' | readonly LoggedChange[] | undefined {
  const { resourceVersion = 0, sendInitialEvents, allowWatchBookmarks } = options;
  if (resourceVersion === 0 || sendInitialEvents === true) {
    state.served.listed(view, state.access.index.revision);
    return (sendInitialEvents ?? true) ? 'all' : [];
  }
  if (state.served.mayHaveChanged(view, resourceVersion)) return undefined;
  return missedSince(resourceVersion, !allowWatchBookmarks, state, view);
}

function tooManyNames(): StatusError {
  return new StatusError(
    'TenantRateExceeded',
    'Too many requests, please try again later: the open watches of namespaces show too many names',
  );
}

function tooOld(revision: number, current: number): string {
  return expiredEvent(`too old resource version: ${revision} (${current})`);
}
