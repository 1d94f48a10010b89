/**
 * Where a request would go, in words for an operator. Of what Stonegate answers itself, only an access or a rules
 * review goes on as the person: discovery is fetched as Stonegate, and of the rest nothing goes on.
 */
import type { Outgoing } from './request-context.ts';

type Route = Outgoing['route'];

/** Whether anything goes to the API server as the person, as opposed to as Stonegate or not at all. */
export function goesAsPerson(route: Route): boolean {
  if (route.kind === 'self-review') return route.review !== 'subject';
  return route.kind === 'forward';
}

export function rewriteWords(route: Route, rawPath: string): string {
  if (route.kind === 'own-api') return "Stonegate's own API";
  if (route.kind === 'self-review' && route.review === 'subject') return 'the path is not sent on';
  return route.path === rawPath ? 'the path stays as it is' : `the path becomes ${route.path}`;
}

/** What the identity is put on. */
export function sentWords({ route, upstreamHeaders }: Outgoing): string {
  switch (route.kind) {
    case 'forward':
      return `${upstreamHeaders.length} header fields would be sent, the identity among them`;
    case 'self-review':
      return goesAsPerson(route) ? 'a question to the API server would carry the identity' : NOTHING_SENT;
    case 'discovery':
    case 'own-api':
      return NOTHING_SENT;
  }
}

const NOTHING_SENT = 'no header field of the request would be sent on';

/** What the last stage would do. */
export function deliveryWords({ route, exchange, user, sender }: Outgoing): string {
  const how = sender.kind === 'client' ? 'with the very token of' : 'as';
  switch (route.kind) {
    case 'own-api':
      return `Stonegate answers ${route.resource} itself`;
    case 'discovery':
      return route.reduce === 'none'
        ? 'Stonegate answers with what it fetches as itself'
        : 'Stonegate answers with what it fetches as itself, reduced to what the tenant may see';
    case 'self-review':
      return reviewWords(route.review);
    case 'forward':
      return exchange.upgrade === undefined
        ? `forwarded to the API server ${how} ${quoted(user.username)}`
        : `tunnelled (${exchange.upgrade.protocol}) to the API server ${how} ${quoted(user.username)}`;
  }
}

function reviewWords(review: Extract<Route, { kind: 'self-review' }>['review']): string {
  switch (review) {
    case 'subject':
      return 'Stonegate answers itself who the user is; the API server is not asked';
    case 'access':
      return 'Stonegate answers the question about oneself, after asking the API server unless it grants that to everybody';
    case 'rules':
      return 'Stonegate answers the question about oneself, after asking the API server';
  }
}

const quoted = (text: string): string => JSON.stringify(text);
