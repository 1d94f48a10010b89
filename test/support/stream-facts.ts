/** The facts with which a long-running request is opened, for tests of streams. */
import type { LongRunning } from '../../src/kubernetes/request-info.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import type { StreamFacts } from '../../src/proxy/streams/open-stream.ts';
import { isTenantName, toTenantName } from '../../src/tenancy/tenant-name.ts';
import { alice } from './fake-pipeline.ts';

const TARGETS: Readonly<Record<LongRunning, string>> = {
  watch: '/api/v1/pods?watch=true',
  log: '/api/v1/namespaces/default/pods/web/log?follow=true',
  exec: '/api/v1/namespaces/default/pods/web/exec',
  attach: '/api/v1/namespaces/default/pods/web/attach',
  portforward: '/api/v1/namespaces/default/pods/web/portforward',
  proxy: '/api/v1/namespaces/default/pods/web/proxy/',
};

export function streamFacts({
  kind = 'watch',
  tenant = 'acme',
  username = 'alice',
  token = 'token',
  expiresAt = Number.POSITIVE_INFINITY,
  receivedAt = 0,
}: {
  readonly kind?: LongRunning;
  readonly tenant?: string;
  readonly username?: string;
  readonly token?: string;
  readonly expiresAt?: number;
  readonly receivedAt?: number;
} = {}): StreamFacts {
  const info = readRequestInfo('GET', TARGETS[kind], { hasTenantsInPaths: false });
  if (!info.isResourceRequest || !isTenantName(tenant)) throw new TypeError('no long-running request');
  return {
    info,
    kind,
    tenant,
    user: { username, uid: 'u1', groups: ['system:authenticated'], extra: {} },
    identity: { ...alice, expiresAt },
    credential: { kind: 'bearer', token },
    source: '192.0.2.7',
    receivedAt,
  };
}

/** Additional facts of a stream in another tenant. */
export const GUEST = {
  home: toTenantName('acme'),
  name: 'alice',
  groups: [],
  tenant: toTenantName('globex'),
};
