import fc from 'fast-check';
import t from 'tap';
import { type JsonObject, objectAt, textAt } from '../support/apiserver/json.ts';
import { startStonegate } from '../support/stonegate.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'widgets.example.com';

const scope = fc.constantFrom('Cluster', 'Cluster', 'cluster', 'Tenant', 'Namespaced', null, ['Cluster'], 1);
const specKey = fc.constantFrom('spec', 'spec', 'spec', 'Spec', 'SPEC', '\u017fpec', 's\\u0070ec');
const scopeKey = fc.constantFrom('scope', 'scope', 'scope', 'Scope', '\u017fcope', 'sc\\u006fpe', '$patch');
const text = (value: unknown): string => JSON.stringify(value);
/** Members as JSON text, so that keys can occur twice or be escaped. */
const members = (key: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(key, value), { maxLength: 3 })
    .map((pairs) => pairs.map(([name, member]) => `"${name}":${member}`));
const names = '"group":"example.com","names":{"plural":"widgets","kind":"Widget"}';
const versions = '"versions":[{"name":"v1","served":true,"storage":true}]';
const spec = fc
  .tuple(members(scopeKey, scope.map(text)), fc.boolean())
  .map(([own, whole]) => `{${[...own, ...(whole ? [names, versions] : [])].join(',')}}`);
const object = fc
  .tuple(members(specKey, fc.oneof(spec, fc.constantFrom('null', '{}', '"x"'))), fc.boolean())
  .map(([own, named]) => {
    const metadata = [`"metadata":{"name":"${NAME}","labels":{"a":"Cluster"}}`];
    return `{${[...(named ? metadata : []), ...own].join(',')}}`;
  });
const pointer = fc.oneof(
  fc.constantFrom(
    '',
    '/',
    '/spec',
    '/spec/scope',
    '/spec/Scope',
    '/Spec',
    'x/spec/scope',
    'x/spec',
    '/sp~0ec',
    '/spec~1scope',
    '/metadata/labels/a',
    '/metadata/labels/b',
    '/metadata/labels',
    '/spec/versions/0/served',
  ),
  fc
    .array(fc.constantFrom('spec', 'scope', 'metadata', 'labels', 'a', '', '~0', '~1', '~'))
    .map((p) => p.join('/')),
);
const operation = fc
  .tuple(
    fc.constantFrom('add', 'replace', 'remove', 'move', 'copy', 'test', 'Add'),
    pointer,
    pointer,
    fc.oneof(scope.map(text), spec, object),
  )
  .map(
    ([op, path, from, value]) => `{"op":"${op}","path":${text(path)},"from":${text(from)},"value":${value}}`,
  );
const patch = fc
  .array(operation, { minLength: 1, maxLength: 3 })
  .map((operations) => `[${operations.join(',')}]`);
const yaml = fc.oneof(
  object,
  fc.constantFrom(
    `metadata: {name: ${NAME}}\nspec: {scope: Namespaced}\n---\nspec: {scope: Cluster}\n`,
    `a: &a {scope: Cluster}\nmetadata: {name: ${NAME}}\nspec: *a\n`,
    `metadata: {name: ${NAME}}\nspec: {<<: {scope: Cluster}, group: example.com, names: {plural: widgets}}\n`,
    `metadata: {name: ${NAME}}\nspec: {scope: !!str Cluster}\n`,
    `metadata: {name: ${NAME}}\nspec: {scope: Tenant, "scope": Cluster}\n`,
    `metadata: {name: ${NAME}}\nspec: {group: example.com, names: {plural: widgets, kind: W}, scope: Tenant}\n`,
  ),
);
const body = fc
  .tuple(fc.constantFrom('', '', '', '\ufeff', ' '), fc.oneof(object, patch, yaml))
  .map((parts) => parts.join(''));
const request = fc.record({
  line: fc.constantFrom(
    ['POST', ''],
    ['POST', ''],
    ['POST', `/${NAME}`],
    ['PUT', `/${NAME}`],
    ['PATCH', `/${NAME}`],
    ['PATCH', `/${NAME}`],
    ['PATCH', `/${NAME}`],
    ['PATCH', `/${NAME}/status`],
  ),
  version: fc.constantFrom('v1', 'v1beta1'),
  tenant: fc.constantFrom('', 'tenants/acme/'),
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json-patch+json',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    'application/JSON; charset=utf-8',
    'text/plain',
  ),
  encoding: fc.constantFrom(undefined, undefined, undefined, 'gzip', 'identity'),
  body,
});

/** A definition that is accepted, which few random ones are. */
const DEFINED = {
  line: ['POST', ''],
  version: 'v1',
  tenant: '',
  type: 'application/json',
  encoding: undefined,
  body: `{"metadata":{"name":"${NAME}"},"spec":{"scope":"Tenant",${names},${versions}}}`,
} as const;

t.test('a tenant cannot define a custom resource that all tenants share', async (t) => {
  const stonegate = await startStonegate(t);
  const { seed, cluster } = stonegate.apiServer;
  const token = stonegate.keystoneToken('alice');
  const statuses = new Map<number, number>();
  const definitions = (): JsonObject[] =>
    cluster.store
      .list({ resource: 'customresourcedefinitions', tenant: 'acme' })
      .map((stored) => stored.object);
  await fc.assert(
    fc.asyncProperty(request, fc.boolean(), async (sent, exists) => {
      for (const { location } of cluster.store.list({
        resource: 'customresourcedefinitions',
        tenant: 'acme',
      }))
        cluster.remove(location);
      if (exists)
        seed.customResource(
          { group: 'example.com', plural: 'widgets', kind: 'Widget', scope: 'Namespaced' },
          { tenant: 'acme' },
        );
      const [method = '', place = ''] = sent.line;
      const path = DEFINITIONS.replace('/v1/', `/${sent.version}/${sent.tenant}`) + place;
      const headers = {
        'content-type': sent.type,
        ...(sent.encoding === undefined ? {} : { 'content-encoding': sent.encoding }),
      };
      const { status } = await stonegate.ask(token, path, { method, headers, body: sent.body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      return definitions().every((one) =>
        /^(?:namespaced|tenant)$/i.test(textAt(objectAt(one, 'spec'), 'scope')),
      );
    }),
    { numRuns: 3_000, examples: [[DEFINED, false]] },
  );
  for (const status of [200, 201, 400, 403, 415])
    t.ok((statuses.get(status) ?? 0) > 0, `some requests get ${status}`);
});
