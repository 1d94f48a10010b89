import fc from 'fast-check';
import t from 'tap';
import { discoveryForm } from '../../../../src/features/discovery/discovery-document.ts';

import { eachRow } from '../../../support/rows.ts';

const V2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

await eachRow(
  `
  /api/v1      | application/vnd.kubernetes.protobuf | application/json
  /apis        | application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList | application/json
  /version     | | application/json
  /openapi/v2  | ${V2} | ${V2}
  /openapi/v2  | ${V2},application/json | ${V2}, application/json;q=0.9
  /openapi/v2  | application/json;q=0.5, ${V2.toUpperCase()};q=0.7 | ${V2}, application/json;q=0.9
  /openapi/v2  | ${V2};q=0, */* | application/json
  /openapi/v3/apis/apps/v1 | ${V2} | application/json`,
  (path, accept, form) =>
    t.test(`${path} for Accept: ${accept} is requested as ${form}`, async (t) => {
      t.equal(discoveryForm(path, accept), form);
    }),
);

t.test('whatever clients accept, a document is requested in few forms', async (t) => {
  const range = fc.tuple(
    fc.oneof(fc.string(), fc.constantFrom(V2, V2.replace('@', '.'), 'application/json', '*/*')),
    fc.oneof(
      fc.constant(''),
      fc.double({ min: 0, max: 1 }).map((q) => `;q=${q}`),
      fc.string(),
    ),
  );
  for (const [path, most] of [
    ['/openapi/v2', 15],
    ['/api/v1', 1],
    ['/version', 1],
  ] as const) {
    const forms = new Set<string>();
    fc.assert(
      fc.property(fc.array(range), (ranges) => {
        forms.add(discoveryForm(path, ranges.map((parts) => parts.join('')).join(', ')));
        return forms.size <= most;
      }),
      { numRuns: 500 },
    );
    t.ok(forms.size <= most, path);
  }
});
