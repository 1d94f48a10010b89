/** Request targets with which a user may try to reach outside of their tenant. */
import fc from 'fast-check';

const WORDS = [
  'api',
  'apis',
  'v1',
  'apps',
  'watch',
  'proxy',
  'tenants',
  'acme',
  'globex',
  'all',
  'system',
  'namespaces',
  'ns',
  'pods',
  'nodes',
  'p1',
  'status',
  'finalize',
  'exec',
  'log',
  'selfsubjectaccessreviews',
  'authorization.k8s.io',
  'openapi',
  'v2',
  'v3',
  'version',
];
const TRAPS = [
  '',
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '.%2e',
  '%2F',
  'a%2Ftenants%2Fglobex',
  '%74enants',
  't%65nants',
  '%5C',
  '\\',
  '..\\',
  '%25',
  '%252e%252e',
  '%00',
  '%0a',
  '%zz',
  '%',
  '%ff',
  '%C3%A9',
  '%20',
  'Tenants',
  'tenants;x',
  '*',
  '#',
  '?tenant=globex',
];

const segment = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 3, arbitrary: fc.constantFrom(...TRAPS) },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
);
const start = fc.constantFrom('/api/v1/', '/apis/apps/v1/', '/api/v1/watch/', '/apis/', '/', '', '//');
/** The prefix of the path; mostly none. */
const prefix = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('/tenants/globex', '/tenants/acme', '/tenants/system', '/tenants/all'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...['/tenants', '/tenants/', '//tenants/globex', '/tenants//globex', '/tenants/globex/'],
      ...[
        '/tenants/%67lobex',
        '/tenants/Globex',
        '/tenants/*',
        '/tenants/..',
        '/tenants/globex/tenants/acme',
      ],
      ...['/%74enants/globex', '/Tenants/globex', '/tenants/globex%2F', '/tenants/globex;x', '/tenants/-'],
    ),
  },
);
const query = fc.constantFrom(
  '',
  '?tenant=globex',
  '?%74enant=globex&watch=1',
  '?timeout=1s;tenant=all',
  '?tenant&tenant=x&ten%61nt=y',
  '?watch=true&fieldSelector=metadata.name%3Dx',
);

/** Targets of honest requests, so that enough are forwarded. */
const USUAL = [
  '/api/v1/pods',
  '/api/v1/namespaces/ns/pods/p1',
  '/api/v1/namespaces/ns/pods/p1/exec',
  '/api/v1/namespaces/ns/pods/p1/log',
  '/api/v1/watch/namespaces/ns/pods',
  '/api/v1/tenants/acme/namespaces/ns/pods',
  '/apis/apps/v1/namespaces/ns/deployments/p1/status',
  '/apis/apps/v1/tenants/acme/deployments',
  '/apis/apps/v1/tenants/globex/deployments',
];
const usual = fc
  .tuple(prefix, fc.constantFrom(...USUAL), query)
  .map(([before, path, last]) => `${before}${path}${last}`);

/** Mostly paths that an API server knows, with traps; sometimes arbitrary text. */
export const requestTarget: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .tuple(prefix, start, fc.array(segment, { maxLength: 9 }), query)
      .map(([before, first, segments, last]) => `${before}${first}${segments.join('/')}${last}`),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 2, arbitrary: usual },
);

export const method: fc.Arbitrary<string> = fc.constantFrom(
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
);
