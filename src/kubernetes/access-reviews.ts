/**
 * Access reviews (with Stonegate's own credential about other users, or with a client's token about that
 * client), and the probe of `/version`, which checks that the API server can be reached and accepts
 * Stonegate's credential.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */

import { StatusError, unauthorized } from '../errors/status-error.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { isJSONObject, readJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { AccessReviewer, ReviewedStatus } from './access-reviewer.ts';
import type { UserInfo } from './authentication-v1.ts';
import type { SubjectAccessReviewSpec } from './authorization-v1.ts';
import type { TenantName } from './request-info.ts';
import type { UpstreamFetcher, UpstreamResponse } from './upstream-ports.ts';
import { ownGet } from './upstream-request.ts';

const JSON_HEADERS: HeaderList = [
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json'],
];

export interface AccessReviewerOptions {
  readonly fetcher: UpstreamFetcher;
  /** Path of a review about this tenant; undefined if the API server has no tenants. */
  readonly path: (
    tenant: TenantName | undefined,
    resource: 'subjectaccessreviews' | 'selfsubjectaccessreviews',
  ) => string;
}

/** Creates a review at the API server. @throws StatusError as the fetcher does */
export function postReview(
  fetcher: UpstreamFetcher,
  request: Pick<Parameters<UpstreamFetcher['fetch']>[0], 'account' | 'sender' | 'target'>,
  review: object,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const body = JSON.stringify(review);
  return fetcher.fetch({ ...request, method: 'POST', headers: JSON_HEADERS, body }, signal);
}

/** A response that is not a valid review is thrown: an error never becomes a permission. */
export function createAccessReviewer({ fetcher, path }: AccessReviewerOptions): AccessReviewer {
  return {
    async review(user, attributes, account, signal) {
      const tenant = 'resourceAttributes' in attributes ? attributes.resourceAttributes.tenant : undefined;
      const review = {
        kind: 'SubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        spec: { ...subjectOf(user), ...attributes },
      };
      const target = path(tenant, 'subjectaccessreviews');
      const response = await postReview(
        fetcher,
        { account, sender: { kind: 'stonegate' }, target },
        review,
        signal,
      );
      if (response.status === 403) {
        throw new StatusError(
          'UpstreamRefusedCredential',
          'the API server does not let Stonegate create subjectaccessreviews; its operator applies what `stonegate manifests rbac --config FILE` prints',
        );
      }
      return reviewStatusOf(response, 'SubjectAccessReview');
    },
    async reviewSelf(token, home, attributes, account, signal) {
      const kind = 'SelfSubjectAccessReview';
      const review = { kind, apiVersion: 'authorization.k8s.io/v1', spec: attributes };
      const target = path(home, 'selfsubjectaccessreviews');
      const response = await postReview(
        fetcher,
        { account, sender: { kind: 'client', token }, target },
        review,
        signal,
      );
      if (response.status === 401) throw unauthorized('the API server no longer takes the token');
      if (response.status === 403)
        return { allowed: false, reason: 'the API server does not let the user ask what it may do' };
      return reviewStatusOf(response, kind);
    },
  };
}

function subjectOf(user: UserInfo): SubjectAccessReviewSpec {
  return {
    user: user.username,
    groups: user.groups,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  };
}

/** Reads the status of a review strictly: only `allowed: true` is a permission. */
export function reviewStatusOf({ status: http, body }: UpstreamResponse, kind: string): ReviewedStatus {
  if (http !== 200 && http !== 201) throw unusable(`its status was ${http}`);
  const review = readJSONObject(body);
  if (review?.kind !== kind) throw unusable('it is no review');
  const status = review.status;
  if (!isJSONObject(status)) throw unusable('it has no status');
  const { allowed, denied, reason, evaluationError, ...unknown } = status;
  if (typeof allowed !== 'boolean' || (denied !== undefined && typeof denied !== 'boolean')) {
    throw unusable('its status says neither yes nor no');
  }
  const [field, ...fields] = Object.keys(unknown);
  const isAllowed = allowed && denied !== true;
  return {
    allowed: isAllowed,
    ...(field !== undefined &&
      !isAllowed &&
      denied !== true && { unknownFields: [field, ...fields] as const }),
    ...(denied === undefined ? {} : { denied }),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof evaluationError === 'string' ? { evaluationError } : {}),
  };
}

function unusable(cause: unknown): StatusError {
  return new StatusError('UpstreamUnavailable', "the API server's answer to an access review is unusable", {
    cause,
  });
}

export interface ApiServerProbe extends ReadinessCheck {
  /** Probes now and stores the result; never throws. */
  probe(): Promise<void>;
  /** Probes now and after every interval. */
  start(): void;
  stop(): void;
}

export interface ApiServerProbeOptions {
  /** Called for each probe, since a reload creates a new one. */
  readonly fetcher: () => UpstreamFetcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds from the end of one probe to the next. */
  readonly interval: number;
}

/**
 * Requests `/version`, which every API server has; Arktos has no `/readyz`. Requests are forwarded even
 * while the API server's own storage is failing.
 */
export function createApiServerProbe(options: ApiServerProbeOptions): ApiServerProbe {
  const { fetcher, clock, logger, interval } = options;
  const stopped = new AbortController();
  let problem: string | undefined = 'not asked yet';
  let timer: Timer | undefined;

  async function probe(): Promise<void> {
    const found = await askForVersion(fetcher(), stopped.signal);
    if (found?.problem !== problem && !stopped.signal.aborted) {
      if (found === undefined) logger.info({}, 'the API server is ready');
      else logger.warn({ error: found.cause, problem: found.problem }, 'the API server is not ready');
    }
    problem = found?.problem;
  }

  function again(): void {
    if (stopped.signal.aborted) return;
    timer = clock.after(interval, start);
  }

  function start(): void {
    void probe().then(again);
  }

  return {
    name: 'upstream',
    notReadyBecause: () => problem,
    probe,
    start,
    stop() {
      stopped.abort();
      timer?.cancel();
    },
  };
}

interface Finding {
  readonly problem: string;
  /** The cause, for the log alone. */
  readonly cause?: unknown;
}

/** @returns undefined on success */
async function askForVersion(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<Finding | undefined> {
  try {
    const { status } = await fetcher.fetch(ownGet('/version'), signal);
    return status === 200 ? undefined : { problem: `GET /version was answered with ${status}` };
  } catch (error) {
    if (error instanceof StatusError) return { problem: error.message, cause: error.cause };
    return { problem: 'the API server could not be asked', cause: error };
  }
}
