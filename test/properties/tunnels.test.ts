/**
 * For any request line and protocol, a tunnel is opened only for paths for which Kubernetes has one. This
 * test parses the path itself, without the parser under test.
 */
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { createPathBoundary } from '../../src/features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../../src/features/tenant-boundary/upgrade-places.ts';
import { serveRequest } from '../../src/proxy/serve-request.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { fakeExchange } from '../support/fake-exchange.ts';
import { fakePipeline } from '../support/fake-pipeline.ts';
import { method, requestTarget } from '../support/request-lines.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const TENANT = '(?:tenants/[a-z0-9-]+/)?';
const CONNECTION = new RegExp(
  `^/api/[^/]+/(?:(?:watch|proxy)/)?${TENANT}(?:namespaces/[^/]+/)?(?:pods/[^/]+/(?:exec|attach|portforward|proxy)|services/[^/]+/proxy|nodes/[^/]+/proxy)(?:/|$)`,
);
const LOG = new RegExp(`^/api/[^/]+/${TENANT}(?:namespaces/[^/]+/)?pods/[^/]+/log(?:/|$)`);
const WATCH = /^\/apis?\/(?:.*\?(?:.*&)?w(?:a|%61)tch|[^?]*\/watch(?:\/|\?|$))/;

/** @param sent may begin with the prefix of the user's own tenant */
function isPlace(verb: string, sent: string, protocol: string): boolean {
  const target = sent.replace(/^\/tenants\/acme(?=\/)/, '');
  const [path = ''] = target.split('?', 1);
  if (protocol === 'spdy/3.1') return CONNECTION.test(path);
  if (protocol !== 'websocket' || verb !== 'GET') return false;
  return CONNECTION.test(path) || LOG.test(path) || WATCH.test(target);
}

const connection = fc
  .tuple(
    fc.constantFrom(
      '/api/v1/',
      '/api/v1/tenants/acme/',
      '/apis/apps/v1/',
      '/api/v1/watch/',
      '/api/v1/proxy/',
    ),
    fc.constantFrom('namespaces/n/', ''),
    fc.constantFrom('pods', 'pods', 'pods', 'services', 'nodes', 'configmaps', 'tenants'),
    fc.constantFrom('', '/p', '/p', '/p'),
    fc.constantFrom(
      '',
      '/exec',
      '/attach',
      '/portforward',
      '/proxy',
      '/proxy/a',
      '/log',
      '/status',
      '/eviction',
    ),
    fc.constantFrom('', '?watch=1', '?watch=false', '?command=sh'),
  )
  .map((parts) => parts.join(''));
const protocol = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('websocket', 'spdy/3.1') },
  {
    weight: 1,
    arbitrary: fc.oneof(fc.constantFrom('h2c', 'tls/1.0', 'constructor', '__proto__', ''), fc.string()),
  },
);

t.test('a tunnel is opened only for paths that have one in Kubernetes', async (t) => {
  let opened = 0;
  await fc.assert(
    fc.asyncProperty(
      method,
      fc.oneof({ weight: 3, arbitrary: connection }, { weight: 1, arbitrary: requestTarget }),
      protocol,
      async (verb, target, name) => {
        const pipeline = fakePipeline({
          mode,
          authorizers: [createUpgradePlaces(mode), createPathBoundary({ isSystem: mode.isSystem })],
        });
        await serveRequest(
          fakeExchange({
            method: verb,
            target,
            headers: [['Authorization', 'Bearer x']],
            upgrade: { protocol: name, socket: new Duplex(), head: Buffer.alloc(0) },
          }),
          pipeline,
        );
        opened += pipeline.tunnelled.length;
        return pipeline.tunnelled.length === 0 || isPlace(verb, target, name);
      },
    ),
    { numRuns: 4_000 },
  );
  t.ok(opened > 50, 'enough tunnels were opened');
});
