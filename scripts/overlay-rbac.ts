/** The rights in the kustomize overlays: what `stonegate manifests rbac` prints for their configuration. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { manifests } from '../src/app/commands/manifests.ts';
import { boundClusterRole, manifestText } from '../src/cli/rbac-objects.ts';
import { RBAC_INDEX_RIGHTS } from '../src/features/rbac-index/rights.ts';

/** The overlays whose API server is that of the cluster. */
export const OVERLAYS = ['shared', 'webhook-only'].map((name) => `config/kubernetes/overlays/${name}`);

const HEADER = `# Written by npm run schema from stonegate manifests rbac --config stonegate.yaml --service-account stonegate/stonegate,
# without the Namespace and the account with its token that does not expire: in the cluster a projected token is mounted.
`;
const OMITTED = /^kind: (?:Namespace|ServiceAccount|Secret)$/m;

/** The text of the overlay's rbac.yaml. */
export async function overlayRBAC(overlay: string): Promise<string> {
  let [printed, problems] = ['', ''];
  const code = await manifests(
    ['rbac', '--config', resolve(overlay, 'stonegate.yaml'), '--service-account', 'stonegate/stonegate'],
    {
      stdout: (part) => {
        printed += part;
      },
      stderr: (part) => {
        problems += part;
      },
    },
    { readFile, env: {} },
  );
  if (code !== 0) throw new Error(`manifests rbac: ${problems}`);
  return `${HEADER}${printed
    .split('---\n')
    .filter((document) => !OMITTED.test(document))
    .join('---\n')}`;
}

/** The rights of the RBAC index alone, which an overlay can add. */
export const INDEX_COMPONENT = 'config/kubernetes/components/access-index';

/** The text of the component's rbac.yaml. */
export function indexRBAC(): string {
  const account = { kind: 'ServiceAccount', namespace: 'stonegate', name: 'stonegate' } as const;
  return `# Written by npm run schema: what stonegate manifests rbac prints in addition if access.index is true.
${manifestText(boundClusterRole('stonegate-index', RBAC_INDEX_RIGHTS, account))}`;
}
