/**
 * The limits on memory in the code, their sum in docs/reference/memory.md, and the memory limits of the chart
 * and the overlays.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import * as bounds from '../../src/limits/memory-bounds.ts';
import { REVIEWS_BYTES } from '../../src/limits/review-limits.ts';
import { MAX_CONNECTIONS } from '../../src/upstream/account-limits.ts';

const MEBIBYTE = 1024 * 1024;
const KIBIBYTE = 1024;

const document = readFileSync('docs/reference/memory.md', 'utf8');
const rows = [...document.matchAll(/^\| ([^|]+) \|.*\| (?:\*\*)?(\d+) MiB(?:\*\*)? \|$/gm)].map(
  ([, what = '', mebibytes]) => ({ what, mebibytes: Number(mebibytes) }),
);
const table = rows.filter(({ what }) => !what.startsWith('**'));

function atMost(what: string): number {
  const found = rows.filter((row) => row.what.startsWith(what));
  if (found.length !== 1) throw new Error(`${found.length} rows begin with ${what}`);
  return found[0]?.mebibytes ?? 0;
}

function sumOf(counted: typeof rows): number {
  return counted.reduce((sum, { mebibytes }) => sum + mebibytes, 0);
}

/** A head, two copies of the body with the data in transit, and the response. */
const UNDER_WAY = (64 + 2 * 64 + 256) * KIBIBYTE + 2 * bounds.STREAM_WINDOW;

/** The beginning of a row → the limit in the code. */
const BOUNDED: Readonly<Record<string, number>> = {
  'Request heads': bounds.MAX_UNFINISHED_HEADS * 256 * KIBIBYTE,
  'Requests of tenants that wait': (bounds.TENANT_QUEUES + bounds.GUEST_QUEUES) * bounds.TENANT_QUEUE_BYTES,
  'Writes that wait for an earlier one': bounds.REVIEWED_WRITE_QUEUES * bounds.TENANT_QUEUE_BYTES,
  'Requests and responses under way': MAX_CONNECTIONS * UNDER_WAY,
  'Responses that Stonegate reads': 2 * bounds.READ_RESPONSES.total,
  'Responses that Stonegate makes': bounds.MADE_RESPONSES.total + bounds.MAX_MERGED_LIST,
  'Names of namespaces of users': bounds.VISIBLE_NAMES_BYTES,
  'Compiled access rules': bounds.ACCESS_RULES_BYTES,
  'Discovery documents of tenants': 2 * bounds.TENANT_DISCOVERY_BYTES,
  'Discovery documents of the system': 2 * bounds.SYSTEM_DISCOVERY_BYTES,
  'The RBAC index': bounds.INDEX_BYTES,
  'Bodies under inspection': 2 * bounds.INSPECTED_BODIES.total,
  'Reviews of the admission webhook': REVIEWS_BYTES,
  'TenantQuotas as this process last wrote': bounds.QUOTA_LEDGERS_BYTES,
  'Audit lines': bounds.AUDIT_BYTES,
};

t.test('docs/reference/memory.md has the limits of the code', async (t) => {
  for (const [what, bytes] of Object.entries(BOUNDED)) t.equal(atMost(what), bytes / MEBIBYTE, what);
});

t.test(
  'the sums in docs/reference/memory.md are those of its rows, and SECURITY.md has the last',
  async (t) => {
    const sum = sumOf(table);
    const twice = sumOf(table.filter(({ what }) => what.endsWith(' *')));
    t.ok(table.length > 15);
    t.equal(atMost('**Sum**'), sum);
    t.equal(atMost('**Sum during a reload**'), sum + twice);
    t.match(document, `adds ${twice} MiB`);
    t.match(readFileSync('SECURITY.md', 'utf8'), `${sum + twice} MiB in all`);
  },
);

t.test('the memory limits of the chart and of the overlays suffice during a reload', async (t) => {
  const limits: readonly string[] = [
    parse(readFileSync('config/charts/stonegate/values.yaml', 'utf8')).resources.limits.memory,
    parse(readFileSync('config/kubernetes/base/deployment.yaml', 'utf8')).spec.template.spec.containers[0]
      .resources.limits.memory,
  ];
  const [, limit, process] =
    /overlays, (\d+) MiB,[\s\S]*?beside\s(\d+) MiB of a process/.exec(document) ?? [];
  t.same(limits, [`${Number(limit) / 1024}Gi`, `${Number(limit) / 1024}Gi`]);
  t.ok(atMost('**Sum during a reload**') + Number(process) <= Number(limit));
});

t.test('the young generation has the same size however Stonegate is started', async (t) => {
  for (const file of ['Dockerfile', 'package.json', 'test/bench/processes.ts', 'docs/performance.md']) {
    const sizes = readFileSync(file, 'utf8').matchAll(
      /(?:"|node |'|NODE_OPTIONS=)--max-semi-space-size=(\d+)/g,
    );
    t.same(
      [...sizes].map(([, size]) => size),
      ['8'],
      file,
    );
  }
});
