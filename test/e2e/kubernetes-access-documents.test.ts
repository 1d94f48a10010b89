/**
 * The commands of docs/who-can.md, docs/access-rules.md and docs/whoami-and-explain.md as a reader types
 * them, with real kubectl through Stonegate in front of a real kube-apiserver.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { isObject, type JsonObject } from '../support/apiserver/json.ts';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { kubeconfigOf } from '../support/kubeconfig.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { apply, startKubernetesSite } from '../support/kubernetes/site.ts';
import { readersShell } from '../support/page-commands.ts';
import { rule } from '../support/policy-rule.ts';

const skip = missingKubernetes() || (findKubectls().length === 0 && NO_KUBECTL);
const RBAC = 'rbac.authorization.k8s.io';

/** The page's code blocks in this language. */
function blocksOf(page: string, language: string) {
  const fences = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  return [...readFileSync(page, 'utf8').matchAll(fences)].map(([, block = '']) => block);
}

/** The commands after a `$ ` prompt, whose output the page shows. */
function typedOn(page: string) {
  return [...readFileSync(page, 'utf8').matchAll(/^\$ (stonegate (?:whoami|access|who-can).*)$/gm)].map(
    ([, command = '']) => command,
  );
}

async function start(t: Test) {
  const { kubernetes, stonegate, letWork } = await startKubernetesSite(t, {
    configuration: { access: { index: true, authorizers: ['Node', 'RBAC'] } },
  });
  await letWork('web', 'acme:alice');
  const folder = t.testdir({});
  const token = stonegate.keystoneToken('alice');
  const { url, authority } = stonegate;
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigOf({ url, ca: authority.cert }, { token }), {
    mode: 0o600,
  });
  const env = { ...readersShell(folder).env, KUBECONFIG: join(folder, 'kubeconfig') };
  return {
    kubernetes,
    token,
    /** Lets alice do in the whole cluster what the ClusterRole says. */
    async grant(role: JsonObject, name: string) {
      await apply(kubernetes, { ...role, metadata: { name } });
      await apply(kubernetes, {
        apiVersion: `${RBAC}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
        subjects: [{ apiGroup: RBAC, kind: 'User', name: 'acme:alice' }],
      });
    },
    async run(script: string) {
      const child = spawn('bash', ['-euc', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
      const code = new Promise<number | null>((done) => child.once('close', done));
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      return { code: await code, stdout, stderr };
    },
  };
}

t.test('the pages about rights', { skip }, async (t) => {
  const { token, grant, run } = await start(t);
  await eventually(async () => (await run('kubectl get namespaces -o name')).stdout === 'namespace/web\n');

  await t.test('docs/who-can.md', async (t) => {
    const [role = ''] = blocksOf('docs/who-can.md', 'yaml');
    const parsed: unknown = parse(role);
    if (!isObject(parsed)) throw new TypeError('the page has no role');
    await grant(parsed, 'stonegate-who-can');
    const [review = ''] = blocksOf('docs/who-can.md', 'sh');
    const created = await run(review);
    t.equal(created.code, 0, created.stderr);
    t.match(parse(created.stdout), {
      kind: 'LocalResourceAccessReview',
      status: { incomplete: false },
    });
    t.match(created.stdout, /^ +- acme:alice$/m);
    const commands = typedOn('docs/who-can.md');
    t.ok(commands.length > 0);
    for (const command of commands) {
      const { code, stdout, stderr } = await run(command);
      t.equal(code, 0, stderr);
      t.match(stdout, /^Group +system:masters +everywhere +built in/m);
      t.match(stdout, /^User +acme:alice +namespace web +RoleBinding /m);
    }
    const everywhere = await run('stonegate who-can get pods --subresource log -A');
    t.equal(everywhere.code, 0, everywhere.stderr);
  });

  await t.test('docs/access-rules.md', async (t) => {
    const rules = [rule('create', 'accessrulesreviews', 'stonegate.dev')];
    await grant({ apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', rules }, 'rules-of-others');
    const [own = '', others = ''] = blocksOf('docs/access-rules.md', 'sh');
    const mine = await run(own);
    t.equal(mine.code, 0, mine.stderr);
    t.match(JSON.parse(mine.stdout), {
      kind: 'SelfAccessRules',
      status: { namespaces: [{ names: ['web'] }] },
    });
    let reviewed = await run(others.replace('gAAAA…', token));
    await eventually(async () => {
      reviewed = await run(others.replace('gAAAA…', token));
      return reviewed.code === 0;
    });
    t.match(JSON.parse(reviewed.stdout), {
      kind: 'AccessRulesReview',
      status: { user: { username: 'acme:alice' } },
    });
    for (const command of typedOn('docs/access-rules.md')) {
      const { code, stdout, stderr } = await run(command);
      t.equal(code, 0, stderr);
      t.match(stdout, /^web +/m);
    }
  });

  await t.test('docs/whoami-and-explain.md', async (t) => {
    const block = blocksOf('docs/whoami-and-explain.md', 'sh').find((each) => each.includes('selfidentity'));
    const raw = await run(block ?? 'exit 3');
    t.equal(raw.code, 0, raw.stderr);
    t.match(JSON.parse(raw.stdout), { kind: 'SelfIdentity', status: { user: { username: 'acme:alice' } } });
    for (const command of typedOn('docs/whoami-and-explain.md'))
      t.match(await run(command), { code: 0, stdout: /^User +acme:alice$/m });
    const refused = await run('stonegate whoami --as bob');
    t.match(refused, { code: 1, stderr: /^stonegate whoami: .*cannot impersonate/ });
  });
});
