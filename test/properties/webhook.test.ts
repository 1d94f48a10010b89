/**
 * Any body that is posted to the webhook is parsed as a review or refused with a well-formed error; no name
 * from Keystone becomes one of the cluster’s own; and a policy allows exactly the requests that an
 * enumeration of its permissions contains.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { policyAllows } from '../../src/features/webhook/keystone-policy.ts';
import { readPolicy } from '../../src/features/webhook/policy-file.ts';
import { readReview } from '../../src/features/webhook/review.ts';
import { legacyUser } from '../../src/features/webhook/reviewed-user.ts';
import { keystoneIdentity } from '../support/identities.ts';

const NAMESPACES = ['', 'a', 'b', 'c'];
const RESOURCES = ['pods', 'pods/exec', 'pods/log', 'nodes', 'nodes/status'];
const VERBS = ['get', 'create'];

interface Pattern {
  readonly not: boolean;
  readonly names: readonly string[];
}

const patternOf = (...names: string[]) =>
  fc.record({
    not: fc.boolean(),
    names: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
  });

const permission = fc.record({
  namespaces: patternOf('*', 'a', 'b', 'c'),
  resources: patternOf('*', 'pods', 'pods/exec', 'pods/*', 'nodes'),
  verbs: fc.uniqueArray(fc.constantFrom('*', 'get', 'CREATE')),
});

const question = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  resource: fc.constantFrom(...RESOURCES),
  verb: fc.constantFrom(...VERBS),
});

function written({ not, names }: Pattern): string {
  const list = names.length === 1 ? names[0] : `[${names.map((name) => `'${name}'`).join(', ')}]`;
  return `${not ? '!' : ''}${list}`;
}

/** Every namespace that a pattern matches. */
function namespacesOf({ not, names }: Pattern): readonly string[] {
  const named = new Set(names.flatMap((name) => (name === '*' ? NAMESPACES.slice(1) : [name])));
  if (not) return NAMESPACES.slice(1).filter((each) => !named.has(each));
  return names.length === 1 && names[0] === '*' ? NAMESPACES : [...named];
}

/** Every resource and subresource that a pattern matches. */
function resourcesOf({ not, names }: Pattern): readonly string[] {
  const below = (name: string) => RESOURCES.filter((each) => each.startsWith(`${name}/`));
  const named = names.flatMap((name) => {
    if (name === '*') return RESOURCES;
    if (name.endsWith('/*')) return below(name.slice(0, -2));
    return not ? [name, ...below(name)] : [name];
  });
  return not ? RESOURCES.filter((each) => !named.includes(each)) : named;
}

t.test('C228 C231 C233 a policy of version 2 allows exactly the requests that it covers', async () => {
  fc.assert(
    fc.property(fc.array(permission, { maxLength: 3 }), question, (permissions, asked) => {
      const covered = new Set(
        permissions.flatMap(({ namespaces, resources, verbs }) =>
          namespacesOf(namespaces).flatMap((namespace) =>
            resourcesOf(resources).flatMap((resource) =>
              verbs
                .flatMap((verb) => (verb === '*' ? VERBS : [verb.toLowerCase()]))
                .map((verb) => `${verb} ${namespace} ${resource}`),
            ),
          ),
        ),
      );
      const entries = permissions.map(({ namespaces, resources, verbs }) => ({
        resource_permissions: { [`${written(namespaces)}/${written(resources)}`]: verbs },
      }));
      const read = readPolicy(JSON.stringify(entries));
      if (!read.ok) throw new Error(read.problems.join('\n'));
      const [resource = '', subresource = ''] = asked.resource.split('/');
      const allowed = policyAllows(read.value, {
        extra: { 'alpha.kubernetes.io/identity/project/id': ['p'] },
        resourceAttributes: { verb: asked.verb, namespace: asked.namespace, resource, subresource },
      });
      return allowed === covered.has(`${asked.verb} ${asked.namespace} ${asked.resource}`);
    }),
    { numRuns: 2_000 },
  );
});

t.test('any policy file is accepted, or refused with a problem', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (content) => {
      const read = readPolicy(content);
      return read.ok || read.problems.length > 0;
    }),
  );
});

const scraps = fc.oneof(fc.constant(undefined), fc.jsonValue({ maxDepth: 2 }));
const nearlyReview = fc.record({
  apiVersion: fc.oneof(
    fc.constantFrom('authentication.k8s.io/v1', 'authorization.k8s.io/v1', 'authorization.k8s.io/v1beta1'),
    scraps,
  ),
  kind: fc.oneof(fc.constantFrom('TokenReview', 'SubjectAccessReview'), scraps),
  spec: fc.oneof(
    scraps,
    fc.record({
      token: scraps,
      audiences: scraps,
      user: scraps,
      group: scraps,
      groups: scraps,
      extra: scraps,
      resourceAttributes: fc.oneof(scraps, fc.record({ verb: scraps, tenant: scraps })),
      nonResourceAttributes: scraps,
    }),
  ),
});

t.test('C243 any body is parsed as a review or refused with a 400', async () => {
  const bodies = fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    nearlyReview.map((value) => Buffer.from(JSON.stringify(value))),
  );
  fc.assert(
    fc.property(bodies, (body) => {
      try {
        return ['TokenReview', 'SubjectAccessReview'].includes(readReview(body).kind);
      } catch (error) {
        return error instanceof StatusError && error.code === 'BodyMalformed';
      }
    }),
    { numRuns: 2_000 },
  );
});

t.test(
  'with legacy names no user becomes one of the cluster’s own or gets the group of another project',
  async () => {
    const prefix = fc.constantFrom('', 'system:', 'keystone:', 'stonegate:');
    const name = fc.tuple(prefix, fc.string({ minLength: 1 })).map((parts) => parts.join(''));
    const id = fc.stringMatching(/^[0-9a-f]{32}$/);
    fc.assert(
      fc.property(name, fc.array(fc.oneof(name, id), { maxLength: 3 }), (userName, groups) => {
        try {
          const user = legacyUser(keystoneIdentity(userName), groups, 'own-project');
          const own = /^(system|keystone|stonegate):|^[0-9a-f]{32}$/;
          return (
            !/^(system|keystone|stonegate):/.test(user.username) && !user.groups.some((g) => own.test(g))
          );
        } catch (error) {
          return error instanceof StatusError && error.code === 'IdentityReserved';
        }
      }),
    );
  },
);
