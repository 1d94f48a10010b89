/**
 * A day’s work with kubectl, done twice: through Stonegate in one namespace, and directly as the same user in
 * another. The output and the exit codes of kubectl must be the same.
 */
import type { Test } from 'tap';
import { parse } from 'yaml';
import { createKubectl, type Kubectl, type KubectlTarget } from '../apiserver/kubectl.ts';
import { rows } from '../rows.ts';
import type { KubernetesSite } from './site.ts';

/** Names of the same length, so that columns have the same width. */
const NAMESPACES = { through: 'work-a', direct: 'work-b' } as const;

const configMap = (name: string, color: string) => `apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, labels: { app: ${name} } }
data: { color: ${color} }
`;
const pod = (name: string, more = '') => `apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web } }
spec: { automountServiceAccountToken: false, containers: [{ name: web, image: nginx }]${more} }
`;
const MANIFESTS: Readonly<Record<string, string>> = {
  settings: configMap('settings', 'red'),
  blue: configMap('settings', 'blue'),
  green: configMap('settings', 'green'),
  applied: configMap('applied', 'red'),
  dry: configMap('dry', 'red'),
  web: pod('web'),
  placed: pod('placed', ', nodeName: silent'),
  unnamed: pod('Not_A_Name'),
  site: `apiVersion: apps/v1
kind: Deployment
metadata: { name: site, labels: { app: site } }
spec:
  replicas: 2
  selector: { matchLabels: { app: site } }
  template: { metadata: { labels: { app: site } }, spec: { containers: [{ name: web, image: nginx }] } }
`,
};

/** A node whose kubelet does not respond: a stream gets only as far as the API server's connection to it. */
const NODE: object = parse(`
  metadata: {name: silent}
  status:
    addresses: [{type: InternalIP, address: 127.0.0.1}]
    daemonEndpoints: {kubeletEndpoint: {Port: 1}}`);

/** @param text whether each command succeeds, the command, and the manifests that it reads */
const commandsOf = (text: string) =>
  rows(text).map(([result, words, names]) => ({
    words: words.split(' '),
    succeeds: result === 'ok',
    ...(names !== '' && {
      stdin: names
        .split(' ')
        .map((name) => MANIFESTS[name])
        .join('---\n'),
    }),
  }));
type Command = ReturnType<typeof commandsOf>[number];

/** The commands that differ between versions of kubectl: how they discover, encode and open streams. */
const BRIEF = commandsOf(`
ok | apply -f - | settings web placed
ok | get pods,configmaps
fails | exec web -- true
fails | exec -i placed -- true
fails | port-forward placed :80
ok | auth can-i delete pods
ok | api-resources --verbs=list
ok | patch configmap settings --type=merge -p {"data":{"color":"black"}}
ok | delete configmap settings`);

const COMMANDS = commandsOf(`
ok | apply -f - | settings web placed site
ok | apply -f - | blue
ok | apply --server-side -f - | applied
ok | apply --dry-run=server -f - | dry
fails | diff -f - | green
fails | create -f - | settings
fails | create -f - | unnamed
ok | get pods
ok | get pods -o wide
ok | get pod web -o yaml
ok | get pods,configmaps,deployments -o name
ok | get configmaps -l app=settings -o jsonpath={.items[*].data.color}
fails | get pod absent
fails | get nothings
ok | describe pod web
ok | label configmap settings size=large
ok | annotate configmap settings note=text
ok | patch configmap settings --type=merge -p {"data":{"color":"black"}}
ok | patch configmap settings --type=json -p [{"op":"replace","path":"/data/color","value":"white"}]
ok | patch deployment site -p {"spec":{"replicas":3}}
ok | scale deployment site --replicas=1
ok | set image deployment/site web=nginx:2
ok | rollout history deployment/site
ok | wait --for=jsonpath={.data.color}=white configmap/settings
ok | logs web
fails | exec web -- true
fails | exec -i placed -- true
fails | attach placed
fails | port-forward web :80
fails | port-forward placed :80
fails | exec absent -- true
ok | auth can-i delete pods
fails | auth can-i get pods --namespace=default
fails | get secrets --namespace=default
fails | get pods -A
fails | delete namespace default
ok | api-resources --verbs=list
ok | api-versions
ok | explain pod.spec.containers
ok | delete configmap settings applied
ok | delete pod web --now
ok | delete deployment site --wait=false`);

/** Must be called once before `compareKubectl`. */
export async function addSilentNode({ kubernetes }: KubernetesSite) {
  await kubernetes.create('/api/v1/nodes', NODE);
}

/** Compares the commands, in separate namespaces for each kubectl. */
export async function compareKubectl(
  t: Test,
  site: KubernetesSite,
  binary: string,
  extent: 'brief' | 'whole' = 'whole',
) {
  const commands = extent === 'whole' ? COMMANDS : BRIEF;
  const { kubernetes, stonegate } = site;
  const token = stonegate.keystoneToken('alice');
  const targets: Readonly<Record<keyof typeof NAMESPACES, KubectlTarget>> = {
    through: { server: stonegate.url, ca: stonegate.authority.cert, token },
    direct: { server: kubernetes.url, ca: kubernetes.authority.cert, ...(await site.direct(token)) },
  };
  const version = /[\d.]*$/.exec(binary)?.[0].replaceAll('.', '-') ?? '';
  const [through, direct] = await Promise.all(
    (['through', 'direct'] as const).map(async (way) => {
      const namespace = `${NAMESPACES[way]}${version}`;
      await site.letWork(namespace, 'acme:alice');
      const kubectl = createKubectl(t, binary, targets[way]);
      return runAll(kubectl, commands, namespace);
    }),
  );
  for (const [index, { words, succeeds }] of commands.entries()) {
    const [ours, theirs] = [through?.[index], direct?.[index]];
    t.same(ours, theirs, `kubectl ${words.join(' ')} has the same result`);
    t.equal(theirs?.code === 0, succeeds, `and ${succeeds ? 'succeeds' : 'fails'}: ${theirs?.stderr}`);
  }
}

/**
 * What kubectl says if the API server ends a WebSocket before kubectl has set up its streams: the error is
 * lost. Which is first is chance.
 * https://pkg.go.dev/k8s.io/client-go/tools/remotecommand
 */
const TOO_LATE = /closed all streams/;

async function runAll(kubectl: Kubectl, commands: readonly Command[], namespace: string) {
  const results: { code: number | null; stdout: string; stderr: string }[] = [];
  for (const { words, stdin } of commands) {
    const run = () => kubectl.run(['-n', namespace, ...words], stdin);
    let result = await run();
    while (TOO_LATE.test(result.stderr)) result = await run();
    const { code, stdout, stderr } = result;
    results.push({ code, stdout: comparable(stdout, namespace), stderr: comparable(stderr, namespace) });
  }
  return results;
}

/** The text without values that differ between any two objects or at different times. */
function comparable(text: string, namespace: string) {
  return (
    text
      .replaceAll(namespace, 'NAMESPACE')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replace(/(resourceVersion: ")\d+/g, '$1N')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
      .replace(/\b\d+s\b */g, 'AGE')
      .replace(/\/tmp\/(LIVE|MERGED)-\d+/g, '$1')
      .replace(/^[+-]{3} .*$/gm, 'FILE')
      .replace(/^(?:[EIW]\d{4} .*)\n/gm, '')
      // Stonegate's own group in the output of `api-versions`.
      .replace(/^stonegate\.dev\/v1alpha1\n/m, '')
  );
}
