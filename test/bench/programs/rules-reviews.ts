/**
 * One SelfSubjectRulesReview for each namespace of a real kube-apiserver, beside the access rules that the
 * RBAC index has of the same user. Prints the figures as JSON. Started by `rules-reviews.ts`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { compileAccessRules } from '../../../src/features/access-rules/access-rules.ts';
import { INDEXED_RESOURCES } from '../../../src/kubernetes/rbac-v1.ts';
import { mapWithConcurrency } from '../../../src/lib/concurrency.ts';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { createRBACReader } from '../../../src/rbac/read-rbac-object.ts';
import { isObject } from '../../support/apiserver/json.ts';
import { startKubernetes } from '../../support/kubernetes/api-server.ts';
import { cpuSeconds } from '../usage.ts';

const NAMESPACES = 300;
const BINDINGS = 4;
const GROUPS = 100;
const ROUNDS = 5;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';
const places = Array.from({ length: NAMESPACES }, (_, at) => `project-${at}`);
const groups = places.slice(0, GROUPS).map((name) => `keystone:project:${name}:role:member`);

function pidOf(port: number): number {
  const found = readdirSync('/proc').find((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words[0]?.includes('kube-apiserver') === true && words.some((word) => word.endsWith(`=${port}`));
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error('kube-apiserver is not running');
  return Number(found);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const kubernetes = await startKubernetes();
try {
  const verbs = ['get', 'list', 'watch', 'create', 'delete'];
  const rules = [{ verbs, apiGroups: ['', 'apps'], resources: ['pods', 'deployments', 'configmaps'] }];
  await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'bench' }, rules });
  const roleRef = { apiGroup, kind: 'ClusterRole', name: 'bench' };
  await mapWithConcurrency(places, 8, async (name) => {
    await kubernetes.create('/api/v1/namespaces', { metadata: { name } });
    for (let at = 0; at < BINDINGS; at += 1)
      await kubernetes.create(`${RBAC}/namespaces/${name}/rolebindings`, {
        metadata: { name: `b${at}` },
        roleRef,
        subjects: [
          { apiGroup, kind: 'Group', name: `keystone:project:${name}:role:${at === 0 ? 'member' : at}` },
        ],
      });
  });
  const index = new RBACIndex();
  const reader = createRBACReader({ hasTenants: false });
  for (const resource of INDEXED_RESOURCES) {
    const path = resource === 'namespaces' ? '/api/v1/namespaces' : `${RBAC}/${resource}`;
    const list: unknown = JSON.parse((await kubernetes.admit('GET', path)).body);
    if (!isObject(list) || !isObject(list.metadata) || !Array.isArray(list.items)) throw new Error(path);
    const objects = list.items.map((value: unknown) =>
      reader.read(resource, { value, text: () => JSON.stringify(value) }),
    );
    index.replace(resource, objects, Number(list.metadata.resourceVersion));
  }
  const user = await kubernetes.user('acme:alice', groups);
  const server = pidOf(kubernetes.port);
  const review = (namespace: string) =>
    kubernetes.ask(user, '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        kind: 'SelfSubjectRulesReview',
        apiVersion: 'authorization.k8s.io/v1',
        spec: { namespace },
      }),
    });
  const cpuOfAll = () => cpuSeconds(server) * 1_000 + process.cpuUsage().user / 1_000;
  async function measured(action: () => Promise<void>): Promise<{ cpuMs: number; ms: number }> {
    const [cpu, began] = [cpuOfAll(), performance.now()];
    await action();
    return { cpuMs: cpuOfAll() - cpu, ms: performance.now() - began };
  }
  const rounds: { reviews: { cpuMs: number; ms: number }; indexed: { cpuMs: number; ms: number } }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const reviews = await measured(async () => {
      await mapWithConcurrency(places, 8, async (name) => {
        const { status } = await review(name);
        if (status !== 201) throw new Error(`a review has the status ${status}`);
      });
    });
    // Ten times, since one is too short to measure.
    const ten = await measured(async () => {
      for (let at = 0; at < 10; at += 1) {
        const fresh = { tenant: '', username: 'acme:alice', groups: [...groups, 'system:authenticated'] };
        JSON.stringify(compileAccessRules(index, uniformSubject(fresh), { verb: '*' }));
      }
    });
    rounds.push({ reviews, indexed: { cpuMs: ten.cpuMs / 10, ms: ten.ms / 10 } });
  }
  const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
  console.log(
    JSON.stringify({
      namespaces: NAMESPACES,
      bindings: NAMESPACES * BINDINGS,
      groups: GROUPS,
      reviews: { cpuMs: of(({ reviews }) => reviews.cpuMs), ms: of(({ reviews }) => reviews.ms) },
      indexed: { cpuMs: of(({ indexed }) => indexed.cpuMs), ms: of(({ indexed }) => indexed.ms) },
      ratioOfCPU: of(({ reviews, indexed }) => reviews.cpuMs / indexed.cpuMs),
      ratioOfTime: of(({ reviews, indexed }) => reviews.ms / indexed.ms),
    }),
  );
} finally {
  await kubernetes.stop();
}
