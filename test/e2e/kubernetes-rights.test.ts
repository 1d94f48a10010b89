/**
 * What `stonegate manifests rbac` prints is enough for everything Stonegate does in shared mode, on a cluster
 * that gives no rights to all users, and every rule of it is needed.
 */
import t, { type Test } from 'tap';
import { isObject, type JsonObject } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { grant, RBAC } from '../support/kubernetes/rbac.ts';
import {
  apply,
  isAllowed,
  type KubernetesSite,
  serviceAccountToken,
  startKubernetesSite,
} from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { startReplica } from '../support/stonegate.ts';

const PODS = '/api/v1/namespaces/acme/pods';
const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All';
const ROLE = 'stonegate-impersonator:stonegate:stonegate';
const STONEGATE = 'system:serviceaccount:stonegate:stonegate';
const CONFIGURATION = {
  authentication: { tokenReview: { tenant: 'robots' }, impersonationExtraKeys: ['example.com/why'] },
};

/**
 * A certificate signing request (PKCS #10) for `CN=x`. The API server adds the requesting user.
 */
const PKCS10 = `-----BEGIN CERTIFICATE REQUEST-----
MIHFMG4CAQAwDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BHTA03EF04LWAWxV+r+sTIeH3pWI+OLPMdkoOzu7Vh7trd7IgRCj2oq86QZXwo3R
vdnivqPqL87Z7oXY1y4tWNagADAKBggqhkjOPQQDAgNHADBEAiAiDJftRuxZMJEp
YKBP2VSFjXTeEbFZ7eV7gHrH0wp2fAIgf8UPRSTpoGVLhstUz5zdhRx1zO3onR/t
tODbh6KQZbc=
-----END CERTIFICATE REQUEST-----
`;
const CSR = JSON.stringify({
  metadata: { name: 'who-am-i' },
  spec: {
    request: Buffer.from(PKCS10).toString('base64'),
    signerName: 'example.com/test',
    usages: ['client auth'],
  },
});

/** Makes requests for everything that Stonegate needs rights for. @returns what users see */
async function tour(t: Test, { kubernetes, stonegate }: KubernetesSite): Promise<Record<string, unknown>> {
  // A new process: nothing is cached, and the API server is probed.
  const fresh = await startReplica(t, stonegate);
  const alice = stonegate.keystoneToken('alice');
  const robot = await serviceAccountToken(kubernetes, 'acme', 'robot');
  const statusOf = async (token: string, headers = {}) => (await fresh.ask(token, PODS, { headers })).status;
  /** The user as the API server knows them, or the status of a refusal. */
  const known = async (token: string, headers = {}): Promise<unknown> => {
    const reply = await fresh.ask(token, CSRS, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: CSR,
    });
    if (reply.status !== 201) return reply.status;
    const { spec }: { spec: { username: string; uid?: string; groups: string[]; extra: object } } =
      JSON.parse(reply.body);
    return [spec.username, spec.uid === undefined, spec.groups.length, Object.keys(spec.extra).sort()];
  };
  const bob = { 'impersonate-user': 'acme:bob', 'impersonate-extra-example.com%2fwhy': 'a test' };
  try {
    const readiness = /the API server is (?:not )?ready/;
    await eventually(() => fresh.logged.some((line) => readiness.test(line)));
    await eventually(() =>
      fresh.logged.some((line) => /what Stonegate may impersonate|omits them/.test(line)),
    );
    return {
      ready: fresh.logged.map((line) => readiness.exec(line)?.[0]).find((found) => found !== undefined),
      user: await statusOf(alice),
      keystone: await known(alice),
      oidc: await known(await stonegate.provider.idToken('carol')),
      asUser: await known(alice, bob),
      asServiceAccount: await statusOf(alice, { 'impersonate-user': 'system:serviceaccount:acme:robot' }),
      serviceAccount: await statusOf(robot),
      omitsExtras: fresh.logged.some((line) => line.includes('omits them')),
    };
  } finally {
    await fresh.close();
  }
}

/** The site, with users who may do what the tour does, and a cluster that grants nothing to every user. */
async function start(t: Test) {
  const site = await startKubernetesSite(t, { configuration: CONFIGURATION });
  const { kubernetes } = site;
  for (const everybody of ['system:public-info-viewer', 'system:discovery'])
    await kubernetes.admit('DELETE', `${RBAC}/clusterrolebindings/${everybody}`);
  await site.letWork('acme', 'acme:alice', 'acme:bob', 'system:serviceaccount:acme:robot');
  await kubernetes.create('/api/v1/namespaces/acme/serviceaccounts', { metadata: { name: 'robot' } });
  await grant(kubernetes, {
    name: 'tour',
    subjects: ['group:stonegate:tenant:acme'],
    rules: [
      rule('create', 'certificatesigningrequests', 'certificates.k8s.io'),
      rule('impersonate', 'users,serviceaccounts'),
      rule('impersonate', 'userextras/example.com/why', 'authentication.k8s.io'),
    ],
  });
  return site;
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

/** Splits rules into rules with one verb on one resource or URL each. */
function single(rules: readonly Rule[]) {
  return rules.flatMap(({ apiGroups = [], resources = [], nonResourceURLs = [], verbs }) =>
    verbs.flatMap((verb) => [
      ...apiGroups.flatMap((group) => resources.map((resource) => rule(verb, resource, group))),
      ...nonResourceURLs.map((url) => ({ nonResourceURLs: [url], verbs: [verb] })),
    ]),
  );
}

function rulesOf(objects: readonly JsonObject[]): Rule[] {
  const role = objects.find(({ kind }) => kind === 'ClusterRole');
  const { name } = isObject(role?.metadata) ? role.metadata : {};
  const rules: Rule[] = JSON.parse(JSON.stringify(role?.rules ?? []));
  if (name !== ROLE || rules.length === 0) throw new Error('manifests rbac prints no rules');
  return single(rules);
}

const nameOf = ({ resources, nonResourceURLs, verbs }: Rule) =>
  `${verbs[0]} ${resources?.[0] ?? nonResourceURLs?.[0]}`;

/** Sets the rules of the role, and waits until the API server's authorizer knows of it. */
async function give({ kubernetes }: KubernetesSite, rules: readonly Rule[], probe: Rule, allowed: boolean) {
  await apply(kubernetes, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: ROLE },
    rules: JSON.parse(JSON.stringify(rules)),
  });
  const [resource = '', subresource = ''] = probe.resources?.[0]?.split(/\/(.*)/, 2) ?? [];
  const verb = probe.verbs[0];
  const attributes =
    probe.nonResourceURLs === undefined
      ? { resourceAttributes: { verb, group: probe.apiGroups?.[0], resource, subresource } }
      : { nonResourceAttributes: { verb, path: probe.nonResourceURLs[0] } };
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:stonegate', 'system:authenticated'];
  await eventually(
    async () => (await isAllowed(kubernetes, { user: STONEGATE, groups, ...attributes })) === allowed,
  );
}

t.test('Stonegate’s own rights', { skip: missingKubernetes() }, async (t) => {
  const site = await start(t);
  const rules = rulesOf(site.printed);
  const complete = await tour(t, site);

  await t.test('what `manifests rbac` prints is enough', async (t) =>
    t.match(complete, {
      ready: 'the API server is ready',
      user: 200,
      keystone: ['acme:alice', false, Number, Array],
      oidc: ['oidc:carol@acme.example', Boolean, Number, Array],
      asUser: ['acme:bob', true, Number, Array],
      asServiceAccount: 200,
      serviceAccount: 200,
      omitsExtras: false,
    }),
  );

  for (const left of rules)
    await t.test(`without ${nameOf(left)} something fails`, async (t) => {
      await give(
        site,
        rules.filter((rule) => rule !== left),
        left,
        false,
      );
      t.notSame(await tour(t, site), complete);
      await give(site, rules, left, true);
    });
});
