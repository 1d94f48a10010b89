import t from 'tap';
import { parse } from 'yaml';
import type { Account } from '../../../src/portal/account.ts';
import { accessOf, kubeconfigOf, kubectlCommands } from '../../../src/portal/kubeconfig.ts';
import { inWords, spanInWords } from '../../../src/portal/moment.ts';
import { createFakePortal, headerOf } from '../../support/portal.ts';

const CLUSTER = {
  name: 'demo',
  server: 'https://k8s.example.com',
  ca: undefined,
  keystoneURL: 'https://keystone.example.com/v3',
};
const ACCOUNT: Account = {
  name: 'alice',
  domain: 'acme',
  issuer: undefined,
  tenant: 'acme',
  username: 'acme:alice',
  groups: [],
  project: { id: 'p1', name: 'web' },
  roles: [],
  otherProjects: [],
  expiresAt: 0,
};

t.test('each project has a context of its own, the one signed in to first', async (t) => {
  const access = accessOf(
    { ...ACCOUNT, otherProjects: [{ id: 'p2', name: 'Big Data' }] },
    CLUSTER,
    undefined,
  );
  t.same(
    access.map(({ name }) => name),
    ['demo-web', 'demo-big-data'],
  );
  const config: unknown = parse(kubeconfigOf(CLUSTER, access));
  t.match(config, {
    'current-context': 'demo-web',
    contexts: [{ name: 'demo-web' }, { name: 'demo-big-data' }],
  });
});

t.test(
  'projects whose names differ only in what a context cannot be called are told apart by their id',
  async (t) => {
    const otherProjects = [
      { id: 'p2', name: 'WEB' },
      { id: 'p3', name: '网' },
    ];
    const names = accessOf({ ...ACCOUNT, otherProjects }, CLUSTER, undefined).map(({ name }) => name);
    t.same(names, ['demo-web', 'demo-web-p2', 'demo']);
  },
);

t.test('who has no project signs in without one', async (t) => {
  const [access] = accessOf({ ...ACCOUNT, project: undefined }, CLUSTER, undefined);
  t.equal(access?.name, 'demo-acme');
  t.notMatch(access?.args.join(' '), '--os-project');
});

t.test(
  'with an issuer the plugin is told the issuer, the client and what it would not ask for',
  async (t) => {
    const portal = createFakePortal();
    const browser = portal.browser();
    await browser.get('/login/oidc?provider=acme');
    await browser.get('/login/callback/acme?code=c&state=the-state');
    const answer = await browser.get('/kubeconfig');
    t.equal(headerOf(answer, 'content-disposition'), 'attachment; filename="demo.kubeconfig"');
    t.match(parse(answer.text), {
      clusters: [
        {
          name: 'demo',
          cluster: {
            server: 'https://k8s.example.com',
            'certificate-authority-data': Buffer.from('CERTIFICATE').toString('base64'),
          },
        },
      ],
      users: [
        {
          user: {
            exec: {
              command: 'stonegate',
              args: [
                'login',
                '--oidc',
                '--issuer-url=https://acme.example.com',
                '--client-id=kubectl-client',
                '--redirect-uri=http://127.0.0.1/acme',
                '--scope=groups',
              ],
            },
          },
        },
      ],
    });
  },
);

t.test('names that a shell would act upon are quoted', async (t) => {
  const hostile = { ...ACCOUNT, name: `o'brien; rm -rf $HOME \`id\`` };
  const commands = kubectlCommands(CLUSTER, accessOf(hostile, CLUSTER, undefined)).join('\n');
  t.match(commands, `'--exec-arg=--os-username=o'\\''brien; rm -rf $HOME \`id\`'`);
});

t.test('without a CA of its own nothing is said of one', async (t) => {
  const access = accessOf(ACCOUNT, CLUSTER, undefined);
  t.notMatch(kubeconfigOf(CLUSTER, access), 'certificate-authority');
  t.notMatch(kubectlCommands(CLUSTER, access).join(), 'certificate-authority');
  t.same(kubectlCommands(CLUSTER, []), []);
});

t.test('many groups are folded away', async (t) => {
  const portal = createFakePortal();
  const { identity } = portal.world;
  if (identity instanceof Error) throw identity;
  portal.world.identity = {
    ...identity,
    groups: Array.from({ length: 100 }, (_, index) => `group-${index}`),
  };
  const browser = portal.browser();
  await browser.signIn();
  t.match((await browser.get('/')).text, '<summary>88 more</summary>');
});

t.test('moments are told in UTC, spans rounded down', async (t) => {
  t.equal(inWords(Date.UTC(2026, 10, 21, 3, 15)), '21 November 2026 at 03:15 UTC');
  t.equal(spanInWords(3_599_999), '59 minutes');
  t.equal(spanInWords(3_600_000), '1 hour');
  t.equal(spanInWords(2 * 86_400_000), '2 days');
  t.equal(spanInWords(59_999), 'less than a minute');
});

t.test('a cluster whose name is a boolean to YAML 1.1 is still called so', async (t) => {
  const cluster = { ...CLUSTER, name: 'on' };
  const text = kubeconfigOf(cluster, accessOf(ACCOUNT, cluster, undefined));
  t.match(parse(text, { version: '1.1' }), {
    clusters: [{ name: 'on' }],
    contexts: [{ context: { cluster: 'on' } }],
  });
});
