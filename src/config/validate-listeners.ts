/**
 * Rules for the listeners of Stonegate, the portal and the webhooks: separate addresses, a separate host name
 * for the portal, and sign-in methods that the API accepts.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';

export function validatePortal(configuration: StonegateConfiguration): Finding[] {
  const { portal } = configuration;
  if (portal === undefined) return [];
  return [
    ...validateOrigin(configuration, portal),
    ...validateSignIn(configuration, portal),
    ...portal.oidc.flatMap((_, index) => validateIssuer(configuration, portal, index)),
    ...validateSharing(configuration),
  ];
}

type Portal = NonNullable<StonegateConfiguration['portal']>;

/**
 * A browser sends a host's cookies to all of its ports. Tenants serve their own pages below the API's address
 * (`…/proxy/`), which must not receive the portal's cookies.
 */
function validateOrigin({ server, admin }: StonegateConfiguration, portal: Portal): Finding[] {
  const findings: Finding[] = [];
  for (const [name, other] of [
    ['server.bind', server.bind],
    ['admin.bind', admin.bind],
  ] as const) {
    if (portal.bind === other && !other.endsWith(':0')) {
      findings.push({
        path: ['portal', 'bind'],
        message: `expected another address than ${name}, ${other}`,
      });
    }
  }
  const { hostname } = new URL(portal.publicURL);
  if (hostname === new URL(portal.kubernetes.server).hostname) {
    findings.push({
      path: ['portal', 'publicURL'],
      message: `expected another host name than that of portal.kubernetes.server, ${hostname}: a browser would send the portal's cookies there, whatever the port`,
    });
  }
  return findings;
}

function validateSignIn({ authentication }: StonegateConfiguration, { oidc, keystone }: Portal): Finding[] {
  if (oidc.length > 0 || (keystone.enabled && authentication.keystone !== undefined)) return [];
  return [
    {
      path: ['portal', 'oidc'],
      message: 'names no issuer, and there is no way to sign in without one or authentication.keystone',
    },
  ];
}

function validateIssuer(
  { authentication }: StonegateConfiguration,
  { oidc }: Portal,
  index: number,
): Finding[] {
  const entry = oidc[index];
  if (entry === undefined) return [];
  const path = ['portal', 'oidc', index];
  const findings: Finding[] = [];
  for (const key of ['name', 'issuer'] as const) {
    if (oidc.findIndex((other) => other[key] === entry[key]) < index) {
      findings.push({
        path: [...path, key],
        message: `expected each ${key} once, found ${entry[key]} again`,
      });
    }
  }
  const place = authentication.jwt.findIndex(({ issuer }) => issuer.url === entry.issuer);
  const known = authentication.jwt[place]?.issuer;
  if (known === undefined) {
    findings.push({
      path: [...path, 'issuer'],
      message: 'expected the URL of an issuer of authentication.jwt, character by character',
    });
    return findings;
  }
  for (const key of ['clientID', 'kubectlClientID'] as const) {
    const client = entry[key];
    if (client !== undefined && !known.audiences.includes(client)) {
      findings.push({
        path: [...path, key],
        message: `expected one of the issuer's audiences, ${known.audiences.join(', ')}: other tokens are not accepted`,
      });
    }
  }
  return findings;
}

/** A browser's next request may be served by another process. */
function validateSharing({ server, cache }: StonegateConfiguration): Finding[] {
  if (server.workers === 1 || cache.redis !== undefined) return [];
  return [
    {
      path: ['cache', 'redis'],
      message: 'is required with portal if server.workers is not 1: workers do not share sessions otherwise',
    },
  ];
}

export function validateWebhook(configuration: StonegateConfiguration): Finding[] {
  const { webhook, authentication, tenancy } = configuration;
  if (webhook === undefined) return [];
  const findings = validateAddress(configuration, 'webhook', webhook.bind);
  if (authentication.keystone === undefined) {
    findings.push({
      path: ['authentication', 'keystone'],
      message: 'is required with webhook, which answers for the tokens of Keystone',
    });
  }
  if (webhook.usernames === 'legacy' && tenancy.mode === 'arktos') {
    findings.push({
      path: ['webhook', 'usernames'],
      message: 'expected qualified: in arktos mode the API server reads the tenant from the name',
    });
  }
  return findings;
}

export function validateAdmissionAddress(configuration: StonegateConfiguration): Finding[] {
  const { admission } = configuration;
  return admission === undefined ? [] : validateAddress(configuration, 'admission', admission.bind);
}

/** A listener's address is not that of a listener before it. */
function validateAddress(
  { server, admin, portal, webhook }: StonegateConfiguration,
  name: 'webhook' | 'admission',
  bind: string,
): Finding[] {
  const others = {
    'server.bind': server.bind,
    'admin.bind': admin.bind,
    'portal.bind': portal?.bind,
    ...(name === 'admission' && { 'webhook.bind': webhook?.bind }),
  };
  return Object.entries(others)
    .filter(([, other]) => other === bind && !bind.endsWith(':0'))
    .map(([other]) => ({
      path: [name, 'bind'],
      message: `expected another address than ${other}, ${bind}`,
    }));
}
