/**
 * Which requests may be upgraded. Stonegate does not inspect what passes through a tunnel, so the resources
 * are a closed list, decided on the parsed request: what Kubernetes itself upgrades, with the two protocols
 * it uses. Any other upgrade is refused instead of served without: its client needs the tunnel.
 * RFC 9110 §7.8; RFC 6455 §4.1;
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */

import { StatusError } from '../../errors/status-error.ts';
import type { RequestInfo } from '../../kubernetes/request-info.ts';
import { plainWatchOnly } from '../../proxy/answer-filtered.ts';
import type { Authorizer } from '../../proxy/authorizer.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

/** Subresources of the core group that are reached by an upgrade, as `resource/subresource`. */
const CONNECTIONS: ReadonlySet<string> = new Set([
  'pods/exec',
  'pods/attach',
  'pods/portforward',
  'pods/proxy',
  'services/proxy',
  'nodes/proxy',
]);
const LOG: ReadonlySet<string> = new Set(['pods/log']);

export function createUpgradePlaces({ watchEvents }: Pick<TenancyMode, 'watchEvents'>): Authorizer {
  return {
    name: 'upgrade-places',
    authorize({ info, exchange: { method, upgrade } }) {
      if (upgrade === undefined) return undefined;
      if (!mayUpgrade(info, method, upgrade.protocol))
        throw new StatusError(
          'RequestMalformed',
          `the connection cannot be upgraded to ${JSON.stringify(upgrade.protocol.slice(0, 64))} here`,
        );
      if (watchEvents === 'filtered' && isWatch(info)) throw plainWatchOnly();
      return undefined;
    },
  };
}

function mayUpgrade(info: RequestInfo, method: string, protocol: string): boolean {
  switch (protocol) {
    case 'websocket':
      return method === 'GET' && (isConnection(info) || isStream(info));
    case 'spdy/3.1':
      return isConnection(info);
    default:
      return false;
  }
}

function isConnection(info: RequestInfo): boolean {
  return isCore(info, CONNECTIONS);
}

/** What the API server also sends as WebSocket messages. */
function isStream(info: RequestInfo): boolean {
  return isWatch(info) || isCore(info, LOG);
}

function isWatch(info: RequestInfo): boolean {
  return info.isResourceRequest && info.verb === 'watch';
}

function isCore(info: RequestInfo, places: ReadonlySet<string>): boolean {
  return (
    info.isResourceRequest &&
    info.apiPrefix === 'api' &&
    info.name !== '' &&
    places.has(`${info.resource}/${info.subresource}`)
  );
}
