/**
 * The responses to self reviews that Stonegate writes itself.
 */
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';

/**
 * The user that Stonegate would send. As in kube-apiserver, this kind alone says when it was made, to the
 * second.
 */
export function answerSubject(outgoing: Outgoing, clock: Clock): UpstreamResponse {
  return jsonResponse(201, {
    kind: 'SelfSubjectReview',
    apiVersion: apiVersionOf(outgoing),
    metadata: { creationTimestamp: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z') },
    status: { userInfo: withoutEmpty(outgoing.user) },
  });
}

function withoutEmpty({ username, uid, groups, extra }: UserInfo): Partial<UserInfo> {
  return {
    username,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** The API version of a review, as the client sent it. */
export function apiVersionOf({ info }: Pick<Outgoing, 'info'>): string {
  return info.isResourceRequest ? `${info.apiGroup}/${info.apiVersion}` : '';
}
