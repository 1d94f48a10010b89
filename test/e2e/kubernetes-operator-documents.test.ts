/**
 * The commands that the documents give to operators, as they are typed, with real kubectl, kustomize and Helm
 * at a real kube-apiserver. The cluster has no nodes: the test does what a running pod would do.
 */
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { patched } from '../support/https-client.ts';
import { admitBridge, BRIDGE } from '../support/keystone/bridge.ts';
import {
  type Kubernetes,
  type KubernetesOptions,
  startKubernetes,
} from '../support/kubernetes/api-server.ts';
import { helm, missing, missingKubernetes } from '../support/kubernetes/programs.ts';
import { isAllowed, prepareKubernetesSite, serviceAccountToken } from '../support/kubernetes/site.ts';
import { startOidcProvider } from '../support/oidc/provider.ts';
import { browse } from '../support/oidc/scripted-browser.ts';
import { askOnce } from '../support/open-request.ts';
import { commandsRunBy, makeCommand, missingLine, readersShell, runShell } from '../support/page-commands.ts';
import { serveStonegate } from '../support/stonegate-process.ts';

const TEST = 'test/e2e/kubernetes-operator-documents.test.ts';
const ACCOUNT = 'system:serviceaccount:';
const skip = missingKubernetes() || missing(helm()) || (findKubectls().length === 0 && NO_KUBECTL);

type Shell = ReturnType<typeof administrator>;

/** A shell of the cluster's administrator, in the folder. */
function administrator(kubernetes: Kubernetes, folder: string) {
  const kubeconfig = join(folder, 'admin-kubeconfig');
  writeFileSync(kubeconfig, kubernetes.kubeconfig(kubernetes.admin), { mode: 0o600 });
  const shell = readersShell(folder);
  Object.assign(shell.env, { KUBECONFIG: kubeconfig });
  return {
    folder,
    /** Puts a script on the PATH in place of the real command. */
    command: (name: string, script: string) => makeCommand(join(folder, 'bin', name), script),
    /** @returns the output; rejects if the script fails */
    async run(script: string) {
      const { output, code } = await runShell(shell, script);
      if (code !== 0) throw new Error(`${script} ended with ${code}: ${output}`);
      return output;
    },
  };
}

async function startCluster(t: Test, options?: KubernetesOptions) {
  const kubernetes = await startKubernetes(t, options);
  const folder = t.testdir({});
  const pair = await kubernetes.authority.server('stonegate');
  const files = { 'tls.crt': pair.cert, 'tls.key': pair.key, 'ca.crt': kubernetes.authority.cert };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  // Commands find `config` as in a checkout.
  symlinkSync(resolve('config'), join(folder, 'config'));
  return { kubernetes, shell: administrator(kubernetes, folder) };
}

/**
 * A kubectl that simulates what needs a pod: its log, its port, and a command in it. For the log and the port
 * the real kubectl runs first, with the same arguments.
 */
const asIfInPod = (admin: string) => `
kubectl='${findKubectls().at(-1)}'
case " $* " in
  *" logs "*) "$kubectl" "$@" >&2; cat pod.log ;;
  *"/proxy/"*)
    "$kubectl" "$@" 2>&1 | grep -q 'stonegate-admin' || exit 1
    address="$3"; '${process.execPath}' -e 'fetch(process.argv[1]).then((r) => r.text()).then((text) => console.log(text))' "http://${admin}/\${address#*/proxy/}" ;;
  *" exec "*)
    while [ "$1" != node ]; do shift; done
    shift 2
    stonegate "$1" --config stonegate.yaml | sed 's|^stonegate.yaml|/etc/stonegate/stonegate.yaml|' ;;
  *) exec "$kubectl" "$@" ;;
esac`;

/** A `stonegate` whose command `serve` ends as soon as it serves. */
const SERVE_BRIEFLY = `
main() { exec '${process.execPath}' '${resolve('src/main.ts')}' "$@"; }
[ "$1" = serve ] || main "$@"
main "$@" >serve.log 2>&1 & pid=$!
until grep -qE '"message":"serving' serve.log; do kill -0 $pid || { cat serve.log; exit 1; }; sleep 0.1; done
kill -INT $pid; wait $pid; cat serve.log; exit 0`;

t.test('docs/kubernetes.md, with Helm', { skip }, async (t) => {
  const { kubernetes, shell } = await startCluster(t);
  const page = readFileSync('docs/kubernetes.md', 'utf8');
  writeFileSync(join(shell.folder, 'values.yaml'), /```yaml\n(.*?)```/s.exec(page)?.[1] ?? '');
  shell.command('docker', 'echo "docker $*"');
  shell.command('helm', `exec '${helm()}' "$@"`);
  const [install = ''] = commandsRunBy(TEST, 'docs/kubernetes.md');
  // No node runs the pod of `helm test`.
  const succeeded = podSucceeds(kubernetes, '/api/v1/namespaces/stonegate/pods');
  const [output] = await Promise.all([shell.run(`REGISTRY=registry.example.com\n${install}`), succeeded]);
  t.match(output, 'docker push registry.example.com/stonegate:0.2.0');
  t.match(output, /^STATUS: deployed$/m);
  t.match(output, /^Phase: +Succeeded$/m);
  t.match(
    await shell.run('kubectl -n stonegate get deployments -o wide'),
    /registry\.example\.com\/stonegate/,
  );

  await t.test('no release, overlay or manifest removes the rights of another', async (t) => {
    await shell.run(`
      helm install stonegate config/charts/stonegate -n other --create-namespace -f values.yaml
      kubectl apply -f config/kubernetes/overlays/shared/rbac.yaml
      for user in stonegate acme/proxy; do
        stonegate manifests rbac --mode shared --user $user | kubectl apply -f -
      done
      stonegate manifests rbac --mode shared --service-account edge/stonegate | kubectl apply -f -
      helm upgrade stonegate config/charts/stonegate -n stonegate -f values.yaml`);
    const [formerNames = ''] = commandsRunBy(TEST, 'docs/upgrade.md');
    await shell.run(
      `kubectl create clusterrole stonegate-impersonator --verb=get --resource=pods\n${formerNames}`,
    );
    await t.rejects(shell.run('kubectl get clusterrole stonegate-impersonator'), /NotFound/);
    const accounts = ['stonegate', 'other', 'edge'].map((namespace) => `${ACCOUNT}${namespace}:stonegate`);
    const resourceAttributes = { verb: 'impersonate', resource: 'users', name: 'alice' };
    for (const user of [...accounts, 'stonegate', 'acme/proxy'])
      await eventually(() => isAllowed(kubernetes, { user, resourceAttributes }));
    const bound = await shell.run('kubectl get clusterrolebindings -o name | grep impersonator | sort');
    t.same(bound.trim().split('\n'), [
      'clusterrolebinding.rbac.authorization.k8s.io/other:stonegate-impersonator',
      'clusterrolebinding.rbac.authorization.k8s.io/stonegate-impersonator:acme-proxy',
      'clusterrolebinding.rbac.authorization.k8s.io/stonegate-impersonator:edge:stonegate',
      'clusterrolebinding.rbac.authorization.k8s.io/stonegate-impersonator:stonegate',
      'clusterrolebinding.rbac.authorization.k8s.io/stonegate-impersonator:stonegate:stonegate',
      'clusterrolebinding.rbac.authorization.k8s.io/stonegate:stonegate-impersonator',
    ]);
  });
});

t.test('docs/kind.md', { skip }, async (t) => {
  const you = { user: 'you', password: 'your-pass' };
  const claims = { email: 'you@example.com', email_verified: true, groups: ['developers'] };
  const provider = await startOidcProvider({ users: { you: { password: you.password, claims } } });
  t.teardown(() => provider.close());
  // A controller aggregates the cluster role `edit`.
  const { kubernetes, shell } = await startCluster(t, { controllers: true });
  const file = (name: string) => join(shell.folder, name);
  const page = readFileSync('docs/kind.md', 'utf8');
  const values = /```yaml\n(.*?)```/s.exec(page)?.[1] ?? '';
  const sample: object = parse(readFileSync('config/samples/kubernetes-oidc.yaml', 'utf8'));
  t.match(sample, parse(values).configuration, 'the sample has the same configuration');
  const atProvider = (text: string) => text.replace('https://login.example.com', provider.issuer);
  writeFileSync(file('values.yaml'), atProvider(values));
  for (const command of ['kind', 'docker']) shell.command(command, `echo "${command} $*"`);
  shell.command('helm', `exec '${helm()}' "$@"`);
  shell.command('kubectl', WITHOUT_PODS);
  const [cluster = '', install = '', rights = '', asYourself = ''] = commandsRunBy(TEST, 'docs/kind.md');

  t.match(await shell.run(cluster), /^kind load docker-image stonegate:.* --name stonegate$/m);
  t.match(await shell.run(install), /^STATUS: deployed$/m);
  t.match(await shell.run(rights), 'rolebinding.rbac.authorization.k8s.io/developers created');

  const mounted = await shell.run(
    `kubectl -n stonegate get configmap stonegate -o jsonpath='{.data.stonegate\\.yaml}'`,
  );
  const stonegate = await serveStonegate(await asInPod(kubernetes, shell, mounted));
  t.teardown(() => stonegate.stop());
  shell.command('xdg-open', `printf %s "$1" >page.part && mv page.part '${file('page')}'`);
  const local = atProvider(asYourself).replaceAll('8443', `${stonegate.port}`);
  const [output] = await Promise.all([
    shell.run(`export DISPLAY=:0\n${local}`),
    eventually(() => existsSync(file('page'))).then(() => browse(readFileSync(file('page'), 'utf8'), you)),
  ]);
  const [, promised = ''] = /```text\n(.*?)```/s.exec(page) ?? [];
  t.equal(missingLine(output, promised.trim().split('\n')), undefined, output);
  t.notMatch(output, /^default /m, 'namespaces are filtered');
  await t.rejects(shell.run('kubectl -n default get pods'), /User "oidc:you@example.com" cannot list/);
});

/** A kubectl that skips commands which wait for a pod. */
const WITHOUT_PODS = `
case " $* " in
  *" rollout "* | *" port-forward "*) exit 0 ;;
  *) exec '${findKubectls().at(-1)}' "$@" ;;
esac`;

/**
 * Writes what the chart mounts into the folder of the shell.
 *
 * @returns the path of the configuration
 */
async function asInPod(kubernetes: Kubernetes, { folder }: Shell, mounted: string) {
  const local = mounted
    .replaceAll('/run/stonegate/tls', folder)
    .replaceAll('/run/stonegate/upstream', folder)
    .replace('https://kubernetes.default.svc', kubernetes.url);
  const configuration: { server: object } = parse(local);
  const server = { ...configuration.server, bind: '127.0.0.1:0' };
  writeFileSync(
    join(folder, 'stonegate.yaml'),
    JSON.stringify({ ...configuration, server, admin: { bind: '127.0.0.1:0' } }),
  );
  writeFileSync(join(folder, 'token'), await serviceAccountToken(kubernetes, 'stonegate', 'stonegate'));
  return join(folder, 'stonegate.yaml');
}

/** Waits for a pod and marks it as succeeded. */
async function podSucceeds(kubernetes: Kubernetes, path: string) {
  let name = '';
  await eventually(async () => {
    const { body } = await kubernetes.ask(kubernetes.admin, path);
    const { items = [] }: { items?: { metadata: { name: string } }[] } = JSON.parse(body);
    name = items[0]?.metadata.name ?? '';
    return name !== '';
  });
  await kubernetes.ask(
    kubernetes.admin,
    `${path}/${name}/status`,
    patched({ status: { phase: 'Succeeded' } }),
  );
}

t.test(
  'docs/kubernetes.md, with kustomize, then docs/webhook.md and docs/admission.md',
  { skip },
  async (t) => {
    const { shell } = await startCluster(t);
    const [, overlay = '', secrets = ''] = commandsRunBy(TEST, 'docs/kubernetes.md');
    const applied = await shell.run(overlay);
    t.match(applied, 'deployment.apps/stonegate created');
    t.match(await shell.run(secrets), 'secret/stonegate-sealing created');

    const [label = ''] = commandsRunBy(TEST, 'docs/webhook.md');
    const labelled = label.replace('PROJECT_NAMESPACE', 'web').replace('PROJECT_ID', 'b'.repeat(32));
    t.match(await shell.run(`kubectl create namespace web\n${labelled}`), 'namespace/web labeled');

    const port = await freePort();
    const configuration = (mode: string, admin: string) => `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
tenancy: { mode: ${mode} }
admission: { bind: "127.0.0.1:${port}", tls: { certFile: tls.crt, keyFile: tls.key } }
admin: { bind: "${admin}" }
`;
    const file = join(shell.folder, 'stonegate.yaml');
    const [inCluster = '', onArktos = ''] = commandsRunBy(TEST, 'docs/admission.md');
    writeFileSync(file, configuration('shared', '0.0.0.0:9090'));
    t.match(
      await shell.run(inCluster),
      'validatingwebhookconfiguration.admissionregistration.k8s.io/stonegate-admission created',
    );
    writeFileSync(file, configuration('arktos', '127.0.0.1:0'));
    shell.command('stonegate', SERVE_BRIEFLY);
    t.match(await shell.run(onArktos), /validatingwebhookconfiguration\S* configured/);
  },
);

t.test('README.md, from its configuration to the first `kubectl get pods` of a user', { skip }, async (t) => {
  const you = { user: 'you', password: 'your-pass' };
  const claims = { email: 'you@example.com', email_verified: true, groups: ['developers'] };
  const provider = await startOidcProvider({ users: { you: { password: you.password, claims } } });
  t.teardown(() => provider.close());
  // Controllers write the token of the service account, and aggregate the cluster role `edit`.
  const { kubernetes, shell } = await startCluster(t, { controllers: true });
  const file = (name: string) => join(shell.folder, name);
  const port = await freePort();
  const local = (text: string) =>
    text
      .replace('0.0.0.0:8443', `127.0.0.1:${port}`)
      .replace('https://10.0.0.1:6443', kubernetes.url)
      .replace('https://login.example.com', provider.issuer)
      .replace('https://stonegate.example.com:8443', `https://localhost:${port} --ca-file ca.crt`);
  const [configuration = ''] = readYAMLBlocks('README.md');
  const admin = 'admin: { bind: "127.0.0.1:0" }\n';
  writeFileSync(file('stonegate.yaml'), `${local(configuration)}${admin}`);
  writeFileSync(file('api-server-ca.crt'), kubernetes.authority.cert);
  const [start = '', rights = '', user = ''] = commandsRunBy(TEST, 'README.md');

  shell.command('stonegate', SERVE_BRIEFLY);
  const started = await shell.run(start.replace('kubectl -n stonegate get secret', `${TOKEN_IS_WRITTEN}$&`));
  t.match(started, /clusterrole\.rbac\.authorization\.k8s\.io\/stonegate/);
  t.match(started, /stonegate\.yaml is good/);
  t.match(started, '"message":"serving');
  t.match(await shell.run(rights), 'rolebinding.rbac.authorization.k8s.io/developers created');

  const stonegate = await serveStonegate(file('stonegate.yaml'));
  t.teardown(() => stonegate.stop());
  shell.command('xdg-open', `printf %s "$1" >page.part && mv page.part '${file('page')}'`);
  const [output] = await Promise.all([
    shell.run(`export DISPLAY=:0\nrm admin-kubeconfig\n${local(user)}kubectl auth whoami`),
    eventually(() => existsSync(file('page'))).then(() => browse(readFileSync(file('page'), 'utf8'), you)),
  ]);
  t.match(output, 'No resources found in web namespace.');
  t.match(output, /^Username +oidc:you@example\.com$/m);

  await t.test('in mode arktos it fails `check`, which says what to do', async (t) => {
    const other = local(configuration).replace('mode: shared', 'mode: arktos');
    writeFileSync(file('stonegate.yaml'), `${other}${admin}`);
    await t.rejects(shell.run('stonegate check --config stonegate.yaml'), {
      message:
        /ended with 1: error: tenancy\.mode: every request of a user fails: the mode is arktos, but the API server is not Arktos .*Set shared, /s,
    });
  });
});

/** A controller writes it a moment after the secret was created. */
const TOKEN_IS_WRITTEN = `until kubectl -n stonegate get secret stonegate-token -o jsonpath='{.data}' | grep -q token; do sleep 0.1; done
`;

function readYAMLBlocks(page: string) {
  return [...readFileSync(page, 'utf8').matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml);
}

t.test('other pages for operators', { skip }, async (t) => {
  const { kubernetes, testbed } = await prepareKubernetesSite(t, {
    configuration: { limits: { perTenant: { perSecond: 5, burst: 10 }, costs: { get: 5 } } },
  });
  t.teardown(() => testbed.close());
  const folder = dirname(testbed.configFile);
  const shell = administrator(kubernetes, folder);

  await t.test('docs/operations.md', async (t) => {
    const stonegate = await serveStonegate(testbed.configFile);
    t.teardown(() => stonegate.stop());
    const alice = testbed.keystoneToken('alice');
    const destination = { port: stonegate.port, ca: testbed.authority.cert };
    const asked = Array.from({ length: 5 }, () => askOnce(destination, alice, '/version'));
    const refused = (await Promise.all(asked)).filter(({ status }) => status === 429).length;
    t.ok(refused > 0);
    const audited = () => readFileSync(join(folder, 'audit.log'), 'utf8');
    await eventually(() => audited().split('"stage":"ResponseComplete"').length > asked.length);
    const lines = stonegate.logged.map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(folder, 'pod.log'), [...lines, audited()].join(''));
    shell.command('kubectl', asIfInPod(`127.0.0.1:${stonegate.adminPort}`));
    const [five = '', whichTenant = ''] = commandsRunBy(TEST, 'docs/operations.md');
    const output = await shell.run(five);
    t.match(output, 'No resources found in stonegate namespace.', 'there is no pod');
    t.match(output, '[+]');
    t.match(output, new RegExp(`^stonegate_refusals_total\\{code="TenantRateExceeded"\\} ${refused}$`, 'm'));
    t.match(output, '/etc/stonegate/stonegate.yaml is good');
    t.match(await shell.run(whichTenant), new RegExp(`^ *${refused} acme\\tacme:alice`, 'm'));
  });

  await t.test('docs/impersonation.md', async (t) => {
    const [constrained = ''] = commandsRunBy(TEST, 'docs/impersonation.md');
    t.match(await shell.run(constrained), 'kind: ClusterRole\n');
  });

  await t.test('docs/bindings.md', async (t) => {
    const { keystone } = testbed;
    await admitBridge(keystone, testbed.configFile);
    await testbed.configure({
      upstream: {
        server: kubernetes.url,
        caFile: 'kubernetes.crt',
        credential: { tokenFile: 'kubernetes-token' },
      },
      authentication: { keystone: { url: keystone.url, caFile: 'ca.crt', serviceCredential: BRIDGE } },
      bindings: {
        credential: { tokenFile: 'provisioner-token' },
        domains: { default: { ignore: true } },
      },
    });
    const [rights = '', sync = ''] = commandsRunBy(TEST, 'docs/bindings.md');
    await shell.run(rights);
    const token = await serviceAccountToken(kubernetes, 'stonegate', 'stonegate-provisioner');
    writeFileSync(join(folder, 'provisioner-token'), token);
    const output = await shell.run(sync);
    t.match(output, /^ACTION +KIND +PLACE +NAME +WHY$/m);
    t.match(output, /^create +Namespace +- .* project web \(/m);
    t.match(output, /\d+ to create, 0 to update, 0 to delete, 0 as they should be, 0 refused$/m);
    t.match(
      await shell.run('kubectl get rolebindings -A -l stonegate.dev/managed-by=stonegate'),
      'stonegate-',
    );
  });
});
