/**
 * Rules about several fields of a configuration. Pure. No two users may share a name, and no external source
 * may produce a name that the cluster itself uses.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';
import { validateAccess } from './validate-access.ts';
import { validateAdmission } from './validate-admission.ts';
import { validateAuthorization } from './validate-authorization.ts';
import { validateBindings } from './validate-bindings.ts';
import { validateIssuers } from './validate-issuers.ts';
import { validateAdmissionAddress, validatePortal, validateWebhook } from './validate-listeners.ts';
import { validatePrefixes, validateTenants } from './validate-names.ts';
import { validatePublishing } from './validate-publishing.ts';

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
    ...validateAccess(configuration),
    ...validateAuthorization(configuration),
    ...validateCache(configuration.cache),
    ...validatePortal(configuration),
    ...validateWebhook(configuration),
    ...validateAdmissionAddress(configuration),
    ...validateAdmission(configuration),
    ...validatePublishing(configuration),
  ];
}

function validateListeners({ server, admin }: StonegateConfiguration): Finding[] {
  if (server.bind !== admin.bind || server.bind.endsWith(':0')) return [];
  return [
    {
      path: ['admin', 'bind'],
      message: `expected another address than server.bind, ${server.bind}`,
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
      'expected keystone, jwt, tokenFile, basicAuthFile, clientCertificates, tokenReview, or several of them';
    findings.push(
      configurationFile === undefined
        ? { path: ['authentication'], message: `accepts no credential: ${expected}` }
        : {
            path: ['authentication', 'configurationFile'],
            message: `expected a file with at least one issuer, since there is no other source: ${expected}`,
          },
    );
  }
  if (anonymous.enabled && tenancy.mode === 'arktos') {
    findings.push({
      path: ['authentication', 'anonymous', 'enabled'],
      message: 'expected false: in arktos mode system:anonymous is a user of the system tenant',
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
      message:
        'is required with cache.redis: without it, a client that can write to Redis could act as any user',
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

function validateCertificates({ server, authentication }: StonegateConfiguration): Finding[] {
  if (authentication.clientCertificates === undefined || server.tls.clientCAFile === undefined) return [];
  return [
    {
      path: ['authentication', 'clientCertificates'],
      message:
        'expected either this or server.tls.clientCAFile, found both: with the latter every client must present a certificate, so it could not identify the user',
    },
  ];
}

function validateKeystone({ authentication: { keystone } }: StonegateConfiguration): Finding[] {
  if (keystone?.roleAssignments === undefined || keystone.serviceCredential !== undefined) return [];
  return [
    {
      path: ['authentication', 'keystone', 'serviceCredential'],
      message: 'is required with roleAssignments: a user may not read the roles of other users',
    },
  ];
}

function validateTokenReview({ authentication, tenancy }: StonegateConfiguration): Finding[] {
  const { tokenReview } = authentication;
  if (tokenReview === undefined) return [];
  const path = ['authentication', 'tokenReview', 'tenant'];
  if (tenancy.mode === 'shared' && tokenReview.tenant === undefined)
    return [
      {
        path,
        message: 'is required in shared mode: the tokens of an ordinary cluster name no tenant',
      },
    ];
  if (tokenReview.tenant === 'all')
    return [{ path, message: 'expected another tenant: "all" stands for every tenant and is none' }];
  return [];
}
