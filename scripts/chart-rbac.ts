/**
 * The rules of `stonegate manifests rbac` for every combination of what they depend on, for the chart's
 * templates, which cannot run Stonegate. Names that come from a configuration are placeholders.
 */
import { parseAllDocuments, stringify } from 'yaml';
import { BASIC_USER_ROLE, CLUSTER_ROLES } from '../src/api/cluster-roles.ts';
import { CREDENTIAL_ID_KEY } from '../src/api/reserved-names.ts';
import { manifests } from '../src/cli/manifests.ts';
import { parseConfiguration } from '../src/config/parse.ts';

export const CHART_RBAC = 'config/charts/stonegate/files/rbac.json';

/** What the templates replace. */
const EXTRA_KEY = 'example.com/placeholder';
const ROLE = 'placeholder';

const MODES = ['arktos', 'shared'] as const;
const KEYSTONE = { keystone: { url: 'https://keystone.example.com/v3' } };
const OTHER = { tokenFile: { file: 'tokens.csv' } };

/** The text of the chart's file: key → rules, one a line. */
export async function chartRBAC(): Promise<string> {
  const impersonator: [string, unknown][] = [];
  const provisioner: [string, unknown][] = [];
  for (const mode of MODES) {
    for (const set of subsets([
      'keystone',
      'tokenReview',
      'index',
      ...(mode === 'shared' ? ['constrained'] : []),
    ])) {
      impersonator.push([[mode, ...set].join(' '), await impersonatorRules(mode, new Set(set))]);
    }
    for (const createRoles of [true, false]) {
      provisioner.push([
        createRoles ? `${mode} createRoles` : mode,
        await provisionerRules(mode, createRoles),
      ]);
    }
  }
  // In shared mode the provisioner may bind the roles that it creates because it has their rules.
  const held = [...CLUSTER_ROLES.keys()].filter((name) => name !== BASIC_USER_ROLE);
  return `{
  "extraKeysOfJWT": ${JSON.stringify([CREDENTIAL_ID_KEY])},
  "heldClusterRoles": ${JSON.stringify(held)},
  "defaultRoles": ${JSON.stringify(defaultRoles())},
${section('impersonator', impersonator)},
${section('provisioner', provisioner)}
}
`;
}

function section(name: string, entries: readonly (readonly [string, unknown])[]): string {
  const lines = entries.map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `  ${JSON.stringify(name)}: {\n${lines.join(',\n')}\n  }`;
}

function impersonatorRules(mode: string, conditions: ReadonlySet<string>): Promise<unknown> {
  return rulesOf(
    {
      tenancy: { mode },
      authentication: {
        ...(conditions.has('keystone') ? KEYSTONE : OTHER),
        ...(conditions.has('tokenReview') ? { tokenReview: { tenant: 'acme' } } : {}),
        impersonationExtraKeys: [EXTRA_KEY],
      },
      access: { index: conditions.has('index') },
    },
    conditions.has('constrained') ? ['--constrained'] : [],
  );
}

function provisionerRules(mode: string, createRoles: boolean): Promise<unknown> {
  const roles = { one: { clusterRole: ROLE }, other: { role: ROLE } };
  return rulesOf({ tenancy: { mode }, authentication: KEYSTONE, bindings: { createRoles, roles } }, [
    '--provisioner',
  ]);
}

/** What Keystone roles are bound to if the operator says nothing. */
function defaultRoles(): unknown {
  const text = wholeConfiguration({ tenancy: { mode: 'shared' }, authentication: KEYSTONE });
  return parseConfiguration(text, '/').configuration?.bindings.roles;
}

function wholeConfiguration(sections: object): string {
  return stringify({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
    upstream: { server: 'https://kubernetes.default.svc', credential: { tokenFile: 'token' } },
    ...sections,
  });
}

/** The rules of the ClusterRole that the command prints. */
async function rulesOf(sections: object, options: readonly string[]): Promise<unknown> {
  const text = wholeConfiguration(sections);
  let [printed, problems] = ['', ''];
  const code = await manifests(
    ['rbac', '--config', '/stonegate.yaml', ...options],
    {
      stdout: (part) => {
        printed += part;
      },
      stderr: (part) => {
        problems += part;
      },
    },
    { readFile: async () => Buffer.from(text), env: {} },
  );
  if (code !== 0) throw new Error(`manifests rbac: ${problems}`);
  const role = parseAllDocuments(printed).find((document) => document.get('kind') === 'ClusterRole');
  return role?.toJS().rules;
}

function subsets(names: readonly string[]): string[][] {
  return names.reduce<string[][]>((all, name) => all.flatMap((set) => [set, [...set, name]]), [[]]);
}
