import fc from 'fast-check';
import t from 'tap';
import { newViolations } from '../../../../src/features/admission/changed-fields.ts';
import type { Violation } from '../../../../src/features/admission/violation.ts';
import { isEqual } from '../../../../src/lib/json-equal.ts';
import { randomPod } from '../../../support/kubernetes/random-pods.ts';
import { C, violationsOf } from '../../../support/pod-security.ts';

const baseline = (object: unknown) => violationsOf(object, 'baseline', 'latest');
const restricted = (object: unknown) => violationsOf(object, 'restricted', 'latest');

function pathsOf(
  object: unknown,
  oldObject: unknown,
  evaluate: (object: unknown) => readonly Violation[] = baseline,
): string[] {
  return newViolations(evaluate, object, oldObject).map(({ path }) => path);
}

const privileged = { name: 'a', securityContext: { privileged: true } };
const plain = { name: 'b' };
const host = (path: string) => ({
  spec: { volumes: [{ name: 'v', hostPath: { path, type: 'Directory' } }] },
});

t.test('a new object is judged whole', async (t) => {
  for (const absent of [undefined, null])
    t.strictSame(pathsOf({ spec: { containers: [privileged] } }, absent), [
      `${C}.securityContext.privileged`,
    ]);
});

t.test(
  'a violation that the old object has in the same place is no reason to refuse an update',
  async (t) => {
    const old = { metadata: { labels: {} }, spec: { containers: [privileged], hostNetwork: true } };
    t.strictSame(pathsOf({ ...old, metadata: { labels: { a: 'b' } } }, old), []);
    t.strictSame(pathsOf({ spec: { containers: [privileged, plain], hostNetwork: false } }, old), []);
  },
);

t.test('the order of keys makes no difference', async (t) => {
  const other = { spec: { volumes: [{ hostPath: { type: 'Directory', path: '/a' }, name: 'v' }] } };
  t.strictSame(pathsOf(other, host('/a')), []);
});

t.test('a violation with another value is a new one', async (t) => {
  t.strictSame(pathsOf(host('/'), host('/a')), ['spec.volumes[0].hostPath']);
  const adding = (...add: string[]) => ({
    spec: { containers: [{ name: 'c', securityContext: { capabilities: { add } } }] },
  });
  t.strictSame(pathsOf(adding('SYS_ADMIN', 'NET_RAW'), adding('SYS_ADMIN')), [
    `${C}.securityContext.capabilities.add[1]`,
  ]);
  t.strictSame(pathsOf(adding('BPF'), adding('SYS_ADMIN')), [`${C}.securityContext.capabilities.add[0]`]);
});

t.test('a violation that moves is a new one', async (t) => {
  const old = { spec: { containers: [privileged, plain] } };
  t.strictSame(pathsOf({ spec: { containers: [plain, privileged] } }, old), [
    'spec.containers[1].securityContext.privileged',
  ]);
  t.strictSame(pathsOf({ spec: { initContainers: [privileged], containers: [plain] } }, old), [
    'spec.initContainers[0].securityContext.privileged',
  ]);
});

t.test(
  'an added container that lacks what is required is refused, the old one beside it is not',
  async (t) => {
    const old = { spec: { containers: [plain] } };
    const paths = pathsOf({ spec: { containers: [plain, { name: 'c' }] } }, old, restricted);
    t.ok(paths.length > 0);
    t.ok(paths.every((path) => path.startsWith('spec.containers[1].')));
  },
);

t.test('a setting of the pod that made containers acceptable cannot be removed', async (t) => {
  const old = { spec: { securityContext: { runAsNonRoot: true }, containers: [plain] } };
  const paths = pathsOf({ spec: { containers: [plain] } }, old, restricted);
  t.strictSame(paths, [`${C}.securityContext.runAsNonRoot`]);
});

t.test('an object that does not change is never refused', async () => {
  fc.assert(
    fc.property(randomPod, (pod) => pathsOf(pod, JSON.parse(JSON.stringify(pod)), restricted).length === 0),
  );
});

t.test('an old object that cannot be read excuses nothing', async (t) => {
  for (const old of [[], 'x', 7, { spec: [] }])
    t.strictSame(pathsOf({ spec: { hostPID: true } }, old), ['spec.hostPID']);
});

t.test('equality of values', async (t) => {
  t.test('types are told apart', async (t) => {
    const values = [undefined, null, true, false, 0, 1, '', '0', [], [null], {}, { a: 1 }, { a: null }];
    for (const a of values) for (const b of values) t.equal(isEqual(a, b), a === b, JSON.stringify([a, b]));
  });
  t.test('keys of a prototype are no keys', async (t) => {
    t.notOk(isEqual(JSON.parse('{"__proto__":{}}'), { a: {} }));
    t.notOk(isEqual({ a: 1 }, { constructor: 1 }));
    t.ok(isEqual(JSON.parse('{"__proto__":{"a":[1]}}'), JSON.parse('{"__proto__":{"a":[1]}}')));
    t.notOk(isEqual(JSON.parse('{"__proto__":{"a":[1]}}'), JSON.parse('{"__proto__":{"a":[2]}}')));
  });
  t.test('the depth is not bounded', async (t) => {
    const deep = (inner: string): unknown =>
      JSON.parse(`${'['.repeat(100_000)}${inner}${']'.repeat(100_000)}`);
    t.ok(isEqual(deep('1'), deep('1')));
    t.notOk(isEqual(deep('1'), deep('2')));
  });
  t.test('any value equals its copy with its keys in another order, and no other', async () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      const entries = Object.entries(value).map(([key, each]) => [key, reversed(each)] as const);
      return Object.fromEntries(entries.reverse());
    };
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const differ = JSON.stringify(a) !== JSON.stringify(b);
        return isEqual(a, reversed(a)) && (differ || isEqual(a, b)) && (!isEqual(a, b) || isEqual(b, a));
      }),
    );
  });
});
