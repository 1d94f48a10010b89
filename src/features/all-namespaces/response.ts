/**
 * What the responses to lists and watches of all namespaces have in common: the namespaces that are left
 * out, and a response of the API server that fails the whole request.
 */
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { HeaderField } from '../../lib/header-list.ts';

/** The API server's response to the request for one namespace, which becomes the response to the client. */
export class UnexpectedNamespaceResponse extends Error {
  readonly response: UpstreamResponse;

  constructor(response: UpstreamResponse) {
    super(`the response for a namespace has the status ${response.status}`);
    this.response = response;
  }
}

/** Named in a warning. */
const MAX_NAMED = 10;

/**
 * A warning that clients print.
 * https://kubernetes.io/blog/2020/09/03/warnings/
 */
export function leftOut(names: readonly string[], { verb, resource }: ResourceRequest): HeaderField[] {
  if (names.length === 0) return [];
  const others = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  const named = `${names.slice(0, MAX_NAMED).join(', ')}${others}`;
  return [['Warning', `299 stonegate "the API server refuses to ${verb} ${resource} in ${named}: left out"`]];
}
