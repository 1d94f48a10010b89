/** Stonegate's configuration for the benchmark, and the tokens that its Keystone vouches for. */
import { stringify } from 'yaml';

export interface BenchSite {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly upstream: string;
  readonly keystoneURL: string;
  readonly issuer: { readonly url: string };
}

/** @param changes merged over it, member by member. @returns a file's text */
export function configurationOf(site: BenchSite, changes: Record<string, object>): string {
  const given = givenBy(site);
  const merged = Object.fromEntries(
    Object.entries({ ...given, ...changes }).map(([key, value]) => [key, { ...given[key], ...value }]),
  );
  return stringify({ apiVersion: 'stonegate.dev/v1alpha1', kind: 'StonegateConfiguration', ...merged });
}

function givenBy(site: BenchSite): Record<string, object> {
  const { certFile, keyFile, caFile, upstream, keystoneURL, issuer } = site;
  return {
    server: { bind: '127.0.0.1:0', tls: { certFile, keyFile } },
    admin: { bind: '127.0.0.1:0' },
    upstream: {
      server: upstream,
      ...(upstream.startsWith('https:') && { caFile }),
      credential: { tokenFile: 'apiserver-token' },
    },
    tenancy: { mode: 'arktos' },
    authentication: {
      // Known credentials stay cached for a run: unknown ones are a scenario of their own.
      keystone: { url: `${keystoneURL}/v3`, cacheTTL: '1h' },
      jwt: [
        {
          issuer: { url: issuer.url, audiences: ['kubernetes'] },
          claimMappings: { username: { claim: 'sub', prefix: 'oidc:' } },
          tenant: { value: 'acme' },
        },
      ],
    },
    // The cost of unknown credentials is measured, not their rate limit.
    limits: {
      unknownCredentials: {
        perSource: { perSecond: 1_000_000, burst: 1_000_000 },
        concurrent: 64,
        queue: 100_000,
        queueTimeout: '60s',
      },
      // All watches of a scenario belong to one user.
      streams: { perUser: 20_000, perTenant: 20_000 },
    },
    audit: { file: 'audit.log' },
    log: { level: 'warn' },
  };
}

export interface TokenShape {
  readonly user?: string;
  readonly tenant?: string;
  readonly groups?: number;
  /** Characters. */
  readonly length?: number;
}

/** A token that the benchmark's Keystone vouches for; of a real one's usual length unless said otherwise. */
export function keystoneToken({
  user = 'alice',
  tenant = 'acme',
  groups = 0,
  length = 250,
}: TokenShape = {}) {
  return `gAAAAA.${user}.${tenant}.${groups}.`.padEnd(length, 'x');
}
