/**
 * Hundreds of random pods violate the same checks as in the PodSecurity admission of a real kube-apiserver,
 * at both levels and in several versions.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { podPartOf } from '../../../src/features/admission/pod-part.ts';
import { podSecurityViolations } from '../../../src/features/admission/pod-security.ts';
import { RESTRICTED } from '../../../src/features/admission/pod-security-checks.ts';
import { posted } from '../../support/https-client.ts';
import { type Kubernetes, startKubernetes } from '../../support/kubernetes/api-server.ts';
import { missingKubernetes, NEWEST, OLDEST, type Release } from '../../support/kubernetes/programs.ts';
import { randomPod } from '../../support/kubernetes/random-pods.ts';

const VERSIONS = ['v1.0', 'v1.8', 'v1.19', 'v1.22', 'v1.25', 'v1.33', 'latest'];
const LEVELS = ['baseline', 'restricted'] as const;
const SEED = Number(process.env.SEED ?? 20_261_122);
const UNRESTRICTED = 'unrestricted';
/** Requests in flight at once. */
const CONCURRENT = 8;

interface Namespace {
  readonly name: string;
  readonly level: (typeof LEVELS)[number];
  readonly version: string;
}

const NAMESPACES: readonly Namespace[] = LEVELS.flatMap((level) =>
  VERSIONS.map((version) => ({ name: `${level}-${version.replace('.', '-')}`, level, version })),
);

async function createNamespaces(kubernetes: Kubernetes) {
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: UNRESTRICTED } });
  for (const { name, level, version } of NAMESPACES) {
    const prefix = 'pod-security.kubernetes.io/enforce';
    const labels = { [prefix]: level, [`${prefix}-version`]: version };
    await kubernetes.create('/api/v1/namespaces', { metadata: { name, labels } });
  }
}

interface Verdict {
  readonly status: number;
  readonly body: unknown;
}

async function create(kubernetes: Kubernetes, namespace: string, pod: object): Promise<Verdict> {
  const { status, body } = await kubernetes.ask(
    kubernetes.admin,
    `/api/v1/namespaces/${namespace}/pods?dryRun=All`,
    posted(pod),
  );
  return { status, body: JSON.parse(body) };
}

/** The API server evaluates a version that it does not know as its own version. */
function rulesViolated(pod: unknown, release: Release, { level, version }: Namespace) {
  const part = podPartOf('', 'pods', pod);
  if (part === undefined) throw new TypeError('no pod');
  const rule = { level, version: version === 'latest' ? `v${release}` : version, mode: 'enforce' } as const;
  return new Set(podSecurityViolations(part, rule).map((one) => one.rule));
}

/** The API server's reasons for the checks, which may be in the plural in a message. */
function reasonsOf(rules: ReadonlySet<string>) {
  const reasons = RESTRICTED.filter(({ id }) => rules.has(id)).map(({ reason }) => reason.split(':', 1));
  return [...new Set(reasons.flat())].sort();
}

function reasonsIn(message: string) {
  const all = reasonsOf(new Set(RESTRICTED.map(({ id }) => id)));
  return all.filter((reason) => [' (', 's ('].some((end) => message.includes(` ${reason}${end}`)));
}

async function compare(t: Test, kubernetes: Kubernetes, release: Release, pods: object[]) {
  const counts = { valid: 0, allowed: 0, forbidden: 0 };
  const differences: unknown[] = [];
  const compareOne = async (pod: object) => {
    const stored = await create(kubernetes, UNRESTRICTED, pod);
    if (stored.status !== 201) return;
    counts.valid += 1;
    for (const namespace of NAMESPACES) {
      const { status, body } = await create(kubernetes, namespace.name, pod);
      const expected = status === 201 ? '' : messageIn(body);
      counts[status === 201 ? 'allowed' : 'forbidden'] += 1;
      const found = reasonsOf(rulesViolated(stored.body, release, namespace));
      const asSent = rulesViolated(pod, release, namespace).size === 0;
      if (String(found) !== String(reasonsIn(expected)) || asSent !== (expected === ''))
        differences.push({ namespace: namespace.name, expected, found, asSent, pod: JSON.stringify(pod) });
    }
  };
  const waiting = [...pods];
  const work = async () => {
    for (let pod = waiting.pop(); pod !== undefined; pod = waiting.pop()) await compareOne(pod);
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  t.strictSame(differences.slice(0, 3), [], `${differences.length} verdicts differ (SEED=${SEED})`);
  t.comment(JSON.stringify(counts));
  t.ok(counts.valid > pods.length * 0.9, 'nearly all pods pass the validation of the API server');
  t.ok(counts.allowed > counts.valid && counts.forbidden > counts.valid, 'both verdicts are frequent');
}

t.test('the random pods violate every check', async (t) => {
  const pods = fc.sample(randomPod, { seed: SEED, numRuns: 300 });
  const found = new Set<string>();
  for (const namespace of NAMESPACES)
    for (const pod of pods) for (const rule of rulesViolated(pod, NEWEST, namespace)) found.add(rule);
  t.strictSame([...found].sort(), RESTRICTED.map(({ id }) => id).sort());
});

function messageIn(status: unknown) {
  return typeof status === 'object' && status !== null && 'message' in status ? String(status.message) : '';
}

for (const [release, count] of [
  [NEWEST, 300],
  [OLDEST, 100],
] as const) {
  const skip = missingKubernetes(release);
  t.test(`pods are judged as kube-apiserver ${release} judges them`, { skip }, async (t) => {
    t.comment(`SEED=${SEED}`);
    const kubernetes = await startKubernetes(t, { release });
    await createNamespaces(kubernetes);
    await compare(t, kubernetes, release, fc.sample(randomPod, { seed: SEED, numRuns: count }));
  });
}
