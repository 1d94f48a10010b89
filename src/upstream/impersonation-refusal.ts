/**
 * Recognizes the API server's refusal to let Stonegate impersonate. It is about Stonegate's own rights, so no
 * client may take it for a response about its own rights. It happens for a moment after each start of an API
 * server, and if a right is missing.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/filters#WithImpersonation
 */

import { StatusError } from '../errors/status-error.ts';
import { type HeaderList, headerValue } from '../lib/header-list.ts';
import { isJSONObject, readJSON, readJSONObject } from '../lib/json-object.ts';
import type { Runtime } from '../lib/runtime.ts';
import { createRateLimiter, ONCE_A_MINUTE, type RateLimiter } from '../limits/rate-limiter.ts';

export interface ImpersonationRefusal {
  /** `users`, `groups`, `uids`, `userextras` or `serviceaccounts`. */
  readonly resource: string;
  /** The extra key that was refused, if the resource is `userextras`. */
  readonly extraKey?: string;
}

/** Milliseconds before the repetition: an API server knows no roles for about 100 ms after its start. */
export const REFUSAL_PAUSE = 200;

/** A Status is a few hundred bytes; what is longer is passed on unread. */
const MAX_REFUSAL_BYTES = 4096;
const GO_STRING = String.raw`"((?:[^"\\]|\\.)*)"`;
/**
 * Anchored at the beginning, since no user's text can stand before it. The server may mangle the object's
 * name.
 */
const MESSAGE = new RegExp(
  String.raw`^(users|groups|uids|userextras|serviceaccounts)(?:\.authentication\.k8s\.io)? (?:${GO_STRING} )?is forbidden: User ${GO_STRING} cannot impersonate(?::[a-z-]+)? resource "\1(?:/([^"\\]+))?" in API group "(?:authentication\.k8s\.io)?" `,
);

export interface ImpersonationRefusalsOptions extends Pick<Runtime, 'clock' | 'logger'> {
  /** Stonegate's user at the API server; undefined if its credential does not show it. */
  readonly ownName: string | undefined;
}

export class ImpersonationRefusals {
  readonly #options: ImpersonationRefusalsOptions;
  /** Limits messages, with a key for each resource. */
  readonly #messages: RateLimiter;

  constructor(options: ImpersonationRefusalsOptions) {
    this.#options = options;
    this.#messages = createRateLimiter({ ...ONCE_A_MINUTE, clock: options.clock });
  }

  /**
   * @param body of a response with status 403 that the API server itself gave
   * @param headers of the request
   * @returns undefined for any other refusal
   */
  read(body: Buffer, headers: HeaderList): ImpersonationRefusal | undefined {
    const impersonated = headerValue(headers, 'impersonate-user');
    const status = body.length > MAX_REFUSAL_BYTES ? undefined : readJSONObject(body);
    if (impersonated === undefined || !isJSONObject(status?.details)) return undefined;
    if (status.kind !== 'Status' || status.code !== 403 || typeof status.message !== 'string')
      return undefined;
    const [, resource, , quoted = '', extraKey] = MESSAGE.exec(status.message) ?? [];
    if (resource === undefined || status.details.kind !== resource) return undefined;
    if (!this.#isOwn(unquoted(quoted), impersonated)) return undefined;
    return { resource, ...(extraKey === undefined ? {} : { extraKey }) };
  }

  /**
   * If a right is missing, every request is refused: the log says it once a minute for each resource.
   *
   * @returns the client's response
   */
  report(refusal: ImpersonationRefusal): StatusError {
    if (this.#messages.take(refusal.resource))
      this.#options.logger.error({ ...refusal }, 'the API server does not let Stonegate impersonate');
    return new StatusError(
      'UpstreamRefusedCredential',
      "the API server does not let Stonegate act for its users at the moment; if that lasts, only Stonegate's operator can mend it",
    );
  }

  /**
   * Without the name, at least it must not be the user's: the server says of users what they may not do, too.
   */
  #isOwn(name: string | undefined, impersonated: string): boolean {
    const { ownName } = this.#options;
    if (name === undefined || name === '') return false;
    return ownName === undefined ? name !== Buffer.from(impersonated, 'latin1').toString() : name === ownName;
  }
}

/** The parts of Go's quoting that JSON has too; a name that needs the others is recognized by none. */
function unquoted(text: string): string | undefined {
  const name = readJSON(`"${text}"`);
  return typeof name === 'string' ? name : undefined;
}
