/**
 * Whatever a user of a tenant sends as an access review or a binding: if it is forwarded, an Arktos server
 * that parses it as leniently as Go’s JSON decoder can answers only about that tenant, and binds only the
 * role that was reviewed.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createAccessReviewsRule } from '../../src/features/admission/access-reviews.ts';
import { createRoleBindingsRule } from '../../src/features/admission/role-bindings.ts';
import { parseStrictJSON } from '../../src/lib/strict-json.ts';
import { isObject, type JsonObject } from '../support/apiserver/json.ts';
import { applyPatch } from '../support/apiserver/patches.ts';
import { ApiError } from '../support/apiserver/statuses.ts';
import { inspectedRequest } from '../support/inspected.ts';

const RUNS = { numRuns: 500 };
const LIMITS = { depth: 64, nodes: 10_000 };

/** A key as it is, or sometimes in another spelling that Go accepts for it. */
function spelled(name: string): fc.Arbitrary<string> {
  const others = [name.toUpperCase(), name.replaceAll('k', '\u212a').replaceAll('s', 'ſ')];
  return fc.oneof(
    { weight: 20, arbitrary: fc.constant(name) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
}

/** The text of an object whose keys may be absent, occur twice or be spelled differently. */
function objectText(fields: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> {
  const members = Object.entries(fields).map(([name, value]) =>
    fc.tuple(spelled(name), value).map(([key, content]) => `${JSON.stringify(key)}:${content}`),
  );
  const each = fc.tuple(...members.map((member) => fc.option(member, { freq: 6 })));
  const again = fc.option(fc.oneof(...members), { freq: 2 });
  return fc
    .tuple(each, fc.option(again, { freq: 2 }))
    .map(([all, more]) => `{${[...all, more].filter((member) => member !== null).join(',')}}`);
}

const text = (...values: string[]) => fc.constantFrom(...values).map((value) => JSON.stringify(value));
const fold = (name: string) => name.toUpperCase().toLowerCase();

/** The field as the most lenient decoder reads it: the last one, in any spelling. */
function laxly(object: unknown, name: string): unknown {
  if (!isObject(object)) return undefined;
  const found = Object.entries(object).filter(([key]) => fold(key) === fold(name));
  return found.at(-1)?.[1];
}

/** @returns undefined if the body is refused */
async function unlessRefused<T>(admit: () => Promise<T>): Promise<T | undefined> {
  try {
    return await admit();
  } catch (error) {
    if (error instanceof StatusError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A review that is forwarded; random bodies without a fault are too rare. */
const ABOUT_CARL = JSON.stringify({
  kind: 'SubjectAccessReview',
  spec: {
    user: 'acme:carl',
    resourceAttributes: { tenant: 'acme', verb: 'list', resource: 'pods' },
  },
});

t.test('a forwarded review asks only about a user of the tenant and about this tenant', async (t) => {
  const attributes = objectText({
    tenant: text('acme', 'globex', 'all', 'system', ''),
    verb: text('list'),
    resource: text('pods'),
  });
  const body = objectText({
    kind: text('SubjectAccessReview'),
    spec: objectText({
      user: text(
        'acme:carl',
        'globex:gina',
        'system:admin',
        'all:x',
        'acme',
        '',
        'ACME:carl',
        'acme:globex:gina',
      ),
      groups: fc.constant('["system:masters"]'),
      resourceAttributes: attributes,
      nonResourceAttributes: fc.constantFrom('null', 'null', '{"path":"/metrics"}'),
    }),
  });
  const admission = createAccessReviewsRule({ isConfined: () => true });
  const request = inspectedRequest({
    path: '/apis/authorization.k8s.io/v1/tenants/acme/subjectaccessreviews',
  });
  let forwarded = 0;
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const review = await unlessRefused(async () => {
        const content = parseStrictJSON(Buffer.from(sent), LIMITS);
        return admission.admit({ format: 'object', content }, request);
      });
      if (review === undefined) return;
      forwarded += 1;
      const spec = laxly(review, 'spec');
      const asked = laxly(spec, 'resourceAttributes');
      t.match(laxly(spec, 'user'), /^acme:/);
      if (asked !== undefined) t.equal(laxly(asked, 'tenant'), 'acme');
    }),
    { ...RUNS, examples: [[ABOUT_CARL]] },
  );
  t.ok(forwarded > 0, 'some requests are forwarded');
});

const RBAC = 'rbac.authorization.k8s.io';
const PATH = `/apis/${RBAC}/v1/tenants/acme/namespaces/ns/rolebindings`;
const roleRef = objectText({
  apiGroup: text(RBAC, ''),
  kind: text('ClusterRole', 'Role'),
  name: text('mine', 'strong', ''),
});

/** A user who may bind the cluster role `mine`, and nothing else. */
function bindings() {
  return createRoleBindingsRule({
    isConfined: () => true,
    review: async (_, { resource, name }) => ({ allowed: resource === 'clusterroles' && name === 'mine' }),
  });
}

t.test('a forwarded binding refers to the role that was reviewed', async (t) => {
  const body = objectText({
    metadata: fc.constant('{"name":"b"}'),
    roleRef,
    subjects: fc.constant('[]'),
  });
  const request = inspectedRequest({ path: PATH });
  let forwarded = 0;
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const passed = await unlessRefused(async () => {
        const content = parseStrictJSON(Buffer.from(sent), LIMITS);
        return { content: (await bindings().admit({ format: 'object', content }, request)) ?? content };
      });
      if (passed === undefined) return;
      forwarded += 1;
      const role = laxly(passed.content, 'roleRef');
      t.strictSame([laxly(role, 'kind'), laxly(role, 'name')], ['ClusterRole', 'mine']);
    }),
    { numRuns: 2000 },
  );
  t.ok(forwarded > 0, 'some requests are forwarded');
});

const pointer = fc.constantFrom(
  '',
  '/',
  '/roleRef',
  '/roleRef/name',
  '/roleref/name',
  '/subjects',
  '/subjects/-',
  '/x',
);
const operation = fc
  .tuple(
    fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
    pointer,
    fc.option(pointer, { nil: undefined }),
    fc.constantFrom<unknown>('strong', { kind: 'ClusterRole', name: 'strong' }, [], {
      roleRef: { name: 'strong' },
    }),
  )
  .map(([op, path, from, value]) => ({ op, path, ...(from !== undefined && { from }), value }));
const patches = fc.oneof(
  fc.tuple(
    fc.constant('json-patch' as const),
    fc.array(operation, { maxLength: 4 }).map((list) => JSON.stringify(list)),
  ),
  fc.tuple(
    fc.constantFrom('merge-patch' as const, 'strategic-merge-patch' as const),
    objectText({
      roleRef: fc.oneof(roleRef, fc.constant('null')),
      subjects: fc.constant('[]'),
      $patch: text('replace', 'delete', 'merge'),
      $retainKeys: fc.constant('["subjects"]'),
    }),
  ),
);

t.test(
  'a forwarded patch does not change the reviewed role, whatever object is stored by then',
  async (t) => {
    const stored = (name: string): JsonObject => ({
      kind: 'RoleBinding',
      metadata: { name: 'b' },
      subjects: [],
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    });
    let forwarded = 0;
    await fc.assert(
      fc.asyncProperty(
        patches,
        fc.constantFrom('mine', 'strong'),
        fc.constantFrom('mine', 'strong'),
        async (patch, read, later) => {
          const [format, sent] = patch;
          const answer = () => ({ status: 200, content: stored(read) });
          const request = inspectedRequest({ path: `${PATH}/b`, method: 'PATCH', answer });
          const content = await unlessRefused(async () => {
            const body = { format, content: parseStrictJSON(Buffer.from(sent), LIMITS) };
            return bindings().admit(body, request);
          });
          if (content === undefined) return;
          forwarded += 1;
          t.equal(read, 'mine');
          const result = patched(format, stored(later), JSON.stringify(content));
          if (result === undefined) return;
          const role = laxly(result, 'roleRef');
          t.strictSame([laxly(role, 'kind'), laxly(role, 'name')], ['ClusterRole', 'mine']);
        },
      ),
      RUNS,
    );
    t.ok(forwarded > 0, 'some requests are forwarded');
  },
);

/** @returns undefined if the patch does not apply */
function patched(format: string, object: JsonObject, patch: string): JsonObject | undefined {
  try {
    return applyPatch(`application/${format}+json`, object, patch);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
