/**
 * What is wrong with a configuration whose fields are right one by one. Pure. The rules on names keep one promise:
 * no two people share a name, and nobody from outside gets a name the cluster itself uses.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';
import { validateBindings } from './validate-bindings.ts';
import { validateCertificates } from './validate-certificates.ts';
import { validateIssuers } from './validate-issuers.ts';
import { validateKeystone } from './validate-keystone.ts';
import { validatePortal } from './validate-portal.ts';
import { validatePrefixes } from './validate-prefixes.ts';
import { validateTenants } from './validate-tenants.ts';
import { validateTokenReview } from './validate-token-review.ts';
import { validateWebhook } from './validate-webhook.ts';

export function validate(configuration: StonegateConfiguration): Finding[] {
  return [
    ...validateListeners(configuration),
    ...validateAuthentication(configuration),
    ...validateCertificates(configuration),
    ...validateIssuers(configuration.authentication.jwt, configuration.authentication.serviceAccountIssuers),
    ...validateKeystone(configuration),
    ...validatePrefixes(configuration),
    ...validateTenants(configuration),
    ...validateTokenReview(configuration),
    ...validateBindings(configuration),
    ...validateCache(configuration.cache),
    ...validatePortal(configuration),
    ...validateWebhook(configuration),
  ];
}

function validateListeners({ server, admin }: StonegateConfiguration): Finding[] {
  if (server.bind !== admin.bind || server.bind.endsWith(':0')) return [];
  return [
    {
      path: ['admin', 'bind'],
      message: `expected another address than server.bind, ${server.bind}`,
      because: [['server', 'bind']],
    },
  ];
}

function validateAuthentication({ authentication, tenancy }: StonegateConfiguration): Finding[] {
  const {
    keystone,
    jwt,
    configurationFile,
    tokenFile,
    basicAuthFile,
    clientCertificates,
    tokenReview,
    anonymous,
  } = authentication;
  const findings: Finding[] = [];
  const sources = [keystone, tokenFile, basicAuthFile, clientCertificates, tokenReview];
  if (jwt.length === 0 && sources.every((source) => source === undefined)) {
    const expected =
      'expected keystone, jwt, a file of people, clientCertificates, tokenReview, or several of them';
    findings.push(
      configurationFile === undefined
        ? { path: ['authentication'], message: `names nobody who may log in: ${expected}` }
        : {
            path: ['authentication', 'configurationFile'],
            message: `expected a file with at least one issuer, since there is no other source: ${expected}`,
            because: [['authentication', 'jwt']],
          },
    );
  }
  if (anonymous.enabled && tenancy.mode === 'arktos') {
    findings.push({
      path: ['authentication', 'anonymous', 'enabled'],
      message: 'expected false: in arktos mode system:anonymous is a user of the system tenant',
      because: [['tenancy', 'mode']],
    });
  }
  return findings;
}

function validateCache({ redis, sealingKeys }: StonegateConfiguration['cache']): Finding[] {
  if (redis === undefined) return [];
  const findings: Finding[] = [];
  if (sealingKeys.length === 0) {
    findings.push({
      path: ['cache', 'sealingKeys'],
      message: 'is required with cache.redis: whoever can write to Redis could become anybody',
    });
  }
  if (redis.sentinels.length > 0 && redis.sentinelName === undefined) {
    findings.push({ path: ['cache', 'redis', 'sentinelName'], message: 'is required with sentinels' });
  }
  if (redis.sentinels.length === 0 && redis.sentinelName !== undefined) {
    findings.push({ path: ['cache', 'redis', 'sentinels'], message: 'is required with sentinelName' });
  }
  if (redis.sentinels.length > 0 && redis.cluster) {
    findings.push({
      path: ['cache', 'redis', 'cluster'],
      message: 'expected either sentinels or a cluster, found both',
    });
  }
  return findings;
}
