/**
 * Rules for the listeners of Stonegate, the portal and the webhooks: separate addresses, a separate host name
 * for the portal, and sign-in methods that the API accepts.
 */
import type { PortalOIDCConfiguration, StonegateConfiguration } from './configuration.ts';
import type { Path, Rule } from './problem.ts';

export function listenerRules(configuration: StonegateConfiguration): Rule[] {
  const { portal, webhook, authentication, tenancy, server, cache } = configuration;
  const hostname = portal && new URL(portal.publicURL).hostname;
  return [
    [
      'portal.publicURL',
      portal !== undefined && hostname === new URL(portal.kubernetes.server).hostname,
      // A browser sends a host's cookies to all of its ports; tenants serve pages below the API's address.
      `expected another host name than that of portal.kubernetes.server, ${hostname}: a browser would send the portal's cookies there, whatever the port`,
    ],
    [
      'cache.redis',
      portal !== undefined && server.workers !== 1 && cache.redis === undefined,
      'is required with portal if server.workers is not 1: workers do not share sessions otherwise',
    ],
    [
      'authentication.keystone',
      webhook !== undefined && authentication.keystone === undefined,
      'is required with webhook, which answers for the tokens of Keystone',
    ],
    [
      'webhook.usernames',
      webhook?.usernames === 'legacy' && tenancy.mode === 'arktos',
      'expected qualified: in arktos mode the API server reads the tenant from the name',
    ],
    ...addressRules(configuration),
    ...signInRules(configuration),
  ];
}

/** Each listener has an address of its own. */
function addressRules(configuration: StonegateConfiguration): Rule[] {
  const names = ['server', 'admin', 'portal', 'webhook', 'admission'] as const;
  const listeners = names.map((name) => ({ name, bind: configuration[name]?.bind }));
  return listeners.flatMap(({ name, bind }): Rule[] => {
    const other = listeners.find((listener) => listener.bind === bind);
    if (bind === undefined || bind.endsWith(':0') || other === undefined) return [];
    return [
      [[name, 'bind'], other.name !== name, `expected another address than ${other.name}.bind, ${bind}`],
    ];
  });
}

/** Users can sign in at the portal, and with what they get there the API accepts them. */
function signInRules({ portal, authentication }: StonegateConfiguration): Rule[] {
  if (portal === undefined) return [];
  const { oidc, keystone } = portal;
  const hasKeystone = keystone.enabled && authentication.keystone !== undefined;
  return [
    [
      'portal.oidc',
      oidc.length === 0 && !hasKeystone,
      'names no issuer, and there is no way to sign in without one or authentication.keystone',
    ],
    ...oidc.flatMap((entry, at) => issuerRules(entry, ['portal', 'oidc', at], authentication)),
  ];
}

function issuerRules(
  { issuer, clientID, kubectlClientID = clientID }: PortalOIDCConfiguration,
  path: Path,
  { jwt }: StonegateConfiguration['authentication'],
): Rule[] {
  const audiences = jwt.find((entry) => entry.issuer.url === issuer)?.issuer.audiences;
  const isForeign = (client: string): boolean => audiences !== undefined && !audiences.includes(client);
  const message = `expected one of the issuer's audiences, ${audiences?.join(', ')}: other tokens are not accepted`;
  return [
    [
      [...path, 'issuer'],
      audiences === undefined,
      'expected the URL of an issuer of authentication.jwt, character by character',
    ],
    [[...path, 'clientID'], isForeign(clientID), message],
    [[...path, 'kubectlClientID'], kubectlClientID !== clientID && isForeign(kubectlClientID), message],
  ];
}
