/**
 * Rules for the listeners of Stonegate, the portal and the webhooks: separate addresses, a separate host name
 * for the portal, and sign-in methods that the API accepts.
 */
import type { StonegateConfiguration } from './configuration.ts';
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

/** Users can log in with a command and at the portal, and the API accepts what they get. */
function signInRules({ portal, authentication }: StonegateConfiguration): Rule[] {
  const logins = authentication.jwt.flatMap(({ login, issuer }, at) =>
    login === undefined ? [] : [{ ...login, issuer, path: ['authentication', 'jwt', at, 'login'] }],
  );
  const hasKeystone = portal?.keystone.enabled === true && authentication.keystone !== undefined;
  return [
    ...logins.flatMap(({ name, clientID, issuer, path }, at): Rule[] => [
      clientRule(clientID, issuer.audiences, path),
      [
        [...path, 'name'],
        logins.findIndex((other) => other.name === name) < at,
        `expected another name than the login of ${logins.find((other) => other.name === name)?.issuer.url}`,
      ],
    ]),
    [
      'portal.oidc',
      portal?.oidc.length === 0 && !hasKeystone,
      'names no issuer, and there is no way to sign in without one or authentication.keystone',
    ],
    ...(portal?.oidc ?? []).flatMap(({ name, clientID }, at): Rule[] => {
      const path = ['portal', 'oidc', at];
      const login = logins.find((each) => each.name === name);
      const names = logins.map((each) => each.name).join(', ') || 'none';
      return [
        [
          [...path, 'name'],
          login === undefined,
          `expected the name of a login in authentication.jwt[].login; there is ${names}`,
        ],
        clientRule(clientID ?? login?.clientID, login?.issuer.audiences, path),
      ];
    }),
  ];
}

function clientRule(client: string | undefined, audiences: readonly string[] = [], path: Path): Rule {
  return [
    [...path, 'clientID'],
    client !== undefined && audiences.length > 0 && !audiences.includes(client),
    `expected one of the issuer's audiences, ${audiences.join(', ')}: other tokens are not accepted`,
  ];
}
