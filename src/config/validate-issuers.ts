/**
 * The rules on issuers beside each other: a token's `iss` must lead to exactly one of them.
 */
import type { JWTConfiguration } from '../api/config-v1alpha1.ts';
import { checkContent } from './content-checks.ts';
import type { Finding, Path } from './problem.ts';
import { validateExpressions } from './validate-expressions.ts';

/** @param serviceAccountIssuers that the API server itself has: their tokens are its own business */
export function validateIssuers(
  jwt: readonly JWTConfiguration[],
  serviceAccountIssuers: readonly string[],
): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (const [index, configuration] of jwt.entries()) {
    const { issuer, claimMappings } = configuration;
    const path = ['authentication', 'jwt', index, 'issuer'];
    const key = twinKey(configuration);
    if (seen.has(key)) {
      findings.push({
        path: [...path, 'url'],
        message: `expected an issuer of its own, found ${issuer.url} again`,
      });
    }
    seen.add(key);
    const { discoveryURL } = issuer;
    if (
      discoveryURL !== undefined &&
      jwt.findIndex((other) => other.issuer.discoveryURL === discoveryURL) < index
    ) {
      findings.push({
        path: [...path, 'discoveryURL'],
        message: `expected a discovery document of its own, found ${discoveryURL} again`,
      });
    }
    if (serviceAccountIssuers.includes(issuer.url)) {
      findings.push({
        path: [...path, 'url'],
        message: `expected another issuer than the API server's own for service accounts, found ${issuer.url}`,
      });
    }
    findings.push(
      ...repeatedKeys(claimMappings.extra, ['authentication', 'jwt', index, 'claimMappings', 'extra']),
    );
    findings.push(...validateExpressions(configuration, ['authentication', 'jwt', index]));
    if (issuer.caFile !== undefined && issuer.certificateAuthority !== undefined) {
      findings.push({
        path: [...path, 'certificateAuthority'],
        message: 'expected either caFile or certificateAuthority, found both',
      });
    }
    if (issuer.certificateAuthority !== undefined) {
      const message = checkContent('ca', Buffer.from(issuer.certificateAuthority));
      if (message !== undefined) findings.push({ path: [...path, 'certificateAuthority'], message });
    }
  }
  return findings;
}

function repeatedKeys(extra: readonly { readonly key: string }[], path: Path): Finding[] {
  return extra.flatMap(({ key }, index) =>
    extra.findIndex((other) => other.key === key) === index
      ? []
      : [{ path: [...path, index, 'key'], message: `expected each key once, found "${key}" again` }],
  );
}

/** Equal for URLs that differ in the host's case or a final slash alone; kube-apiserver accepts both. */
function twinKey({ issuer, asKubernetes }: JWTConfiguration): string {
  return asKubernetes ? issuer.url : new URL(issuer.url).href.replace(/\/+$/, '');
}
