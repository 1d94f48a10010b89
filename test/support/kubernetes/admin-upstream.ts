/** Connections to a real kube-apiserver as its administrator, as Stonegate makes them. */
import type { Test } from 'tap';
import { commandRuntime } from '../../../src/lib/runtime.ts';
import { createUpstream, type Upstream } from '../../../src/upstream/upstream.ts';
import type { Kubernetes } from './api-server.ts';

const SECONDS = 1_000;
const LIMITS = { tenantQueue: { requests: 16, bytes: 65_536 }, sources: 1 };

/** Closed with the test; register the server's teardown first. */
export function adminUpstream(t: Pick<Test, 'teardown'>, kubernetes: Kubernetes): Upstream {
  const { certificate } = kubernetes.admin;
  if (certificate === undefined) throw new TypeError('the administrator has no certificate');
  const upstream = createUpstream({
    ...commandRuntime(),
    server: kubernetes.url,
    ca: kubernetes.authority.cert,
    credential: { cert: Buffer.from(certificate.cert), key: Buffer.from(certificate.key) },
    timeouts: { connect: 10 * SECONDS, response: 30 * SECONDS, body: 30 * SECONDS },
    maxBodyBytes: 1_000_000,
    limits: LIMITS,
  });
  t.teardown(() => upstream.destroy());
  return upstream;
}
