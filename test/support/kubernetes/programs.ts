/**
 * The programs that `build-programs` built in the versions of `v1.*\/go.mod`, and the clients that
 * `clients/install` installed. They are outside the tree, since a build takes minutes.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The oldest and the newest supported release. */
export type Release = '1.33' | '1.36';
export const OLDEST: Release = '1.33';
export const NEWEST: Release = '1.36';

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'stonegate-test');
const KINDS = '../../../scripts/kubernetes-kinds';
const HOW_TO_INSTALL = 'is not there: install Go 1.26 or newer and run test/install-services';

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const versionOf = (release: Release, module: string) => pinned(`v${release}/go.mod`, module);

function pinned(file: string, module: string) {
  const [, version] = new RegExp(`^\\s+${module} (\\S+)`, 'm').exec(readFileSync(path(file), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${file} does not require ${module}`);
  return version;
}

export const etcd = () => join(CACHE, `etcd-${versionOf(NEWEST, 'go.etcd.io/etcd/server/v3')}`);

export const kubeApiserver = (release: Release) =>
  join(CACHE, `kube-apiserver-${versionOf(release, 'k8s.io/kubernetes')}`);

export const kubeControllerManager = () =>
  join(CACHE, `kube-controller-manager-${versionOf(NEWEST, 'k8s.io/kubernetes')}`);

export const newestKubectl = () => join(CACHE, `kubectl-${versionOf(NEWEST, 'k8s.io/kubernetes')}`);

export const helm = () => join(CACHE, `helm-${pinned('helm/go.mod', 'helm.sh/helm/v4')}`);

/** actionlint, which checks GitHub workflows. */
export const actionlint = () =>
  join(CACHE, `actionlint-${pinned('../actionlint/go.mod', 'github.com/rhysd/actionlint')}`);

/** client-go's informer: `informer --kubeconfig F --resource [GROUP/]VERSION/RESOURCE [--namespace N]`. */
export const informer = () =>
  join(CACHE, `informer-${versionOf(NEWEST, 'k8s.io/client-go')}-${digest(`v${NEWEST}/informer/main.go`)}`);

/** Prints the fields of the built-in kinds. */
export const kinds = () => join(CACHE, `kubernetes-kinds-${digest(`${KINDS}/go.mod`, `${KINDS}/main.go`)}`);

/** The folders into which `clients/install` installs. */
export const javascriptClient = () => join(CACHE, `javascript-client-${digest('clients/package-lock.json')}`);
/** kubernetes-mcp-server for this processor: `clients/install` has it for Linux on x64. */
export const mcpServer = () => {
  const name = `kubernetes-mcp-server-linux-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return join(javascriptClient(), 'node_modules', name, 'bin', name);
};
export const pythonClient = () => join(CACHE, `python-client-${digest('clients/requirements.txt')}`);

function digest(...files: string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(path(file)));
  return hash.digest('hex').slice(0, 12);
}

/** Why tests that need these programs cannot run here; false if they can. */
export function missing(...programs: readonly string[]): string | false {
  const absent = programs.find((program) => !existsSync(program));
  return absent === undefined ? false : `${absent.slice(CACHE.length + 1)} ${HOW_TO_INSTALL}`;
}

/** Why tests with a real kube-apiserver cannot run here; false if they can. */
export const missingKubernetes = (release: Release = NEWEST): string | false =>
  missing(etcd(), kubeApiserver(release));

/** Why tests that also need its controllers cannot run here; false if they can. */
export const missingControllers = (): string | false =>
  missing(etcd(), kubeApiserver(NEWEST), kubeControllerManager());
