/**
 * Rules for `bindings`, checked when the configuration is loaded and not when provisioning first runs.
 */
import { CLUSTER_ROLES } from '../api/cluster-roles.ts';
import type { CredentialFiles, RoleTarget, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { MAX_LABEL_LENGTH, namespaceProblem } from '../api/reserved-names.ts';
import type { Finding, Path } from './problem.ts';

export function validateBindings(configuration: StonegateConfiguration): Finding[] {
  const { projects, domains, namespaceFormat, roles } = configuration.bindings;
  const exceptions = [
    ...Object.entries(projects).map(([id, exception]) => ({ path: ['projects', id], exception })),
    ...Object.entries(domains).map(([id, exception]) => ({ path: ['domains', id], exception })),
  ];
  return [
    ...validateProvisioning(configuration),
    ...validateFormat(namespaceFormat),
    ...validateNamespaces(configuration),
    ...validateTargets(roles, ['bindings', 'roles']),
    ...exceptions.flatMap(({ path, exception }) =>
      validateTargets(exception.roles ?? {}, ['bindings', ...path, 'roles']),
    ),
  ];
}

function validateProvisioning(configuration: StonegateConfiguration): Finding[] {
  const { bindings, upstream, authentication } = configuration;
  const findings: Finding[] = [];
  const { credential, provision } = bindings;
  if (provision !== 'none' && authentication.keystone?.serviceCredential === undefined) {
    findings.push({
      path: ['authentication', 'keystone', 'serviceCredential'],
      message: `is required with bindings.provision: ${provision}: only a service may list all projects and roles`,
    });
  }
  if (provision !== 'none' && credential === undefined) {
    findings.push({
      path: ['bindings', 'credential'],
      message: `is required with bindings.provision: ${provision}: what impersonates must not also give rights`,
    });
  }
  if (credential !== undefined && sharesFile(credential, upstream.credential)) {
    findings.push({
      path: ['bindings', 'credential'],
      message: 'expected a credential of its own, found that of upstream, which impersonates',
    });
  }
  return findings;
}

function sharesFile(one: CredentialFiles, other: CredentialFiles): boolean {
  const names = new Set(Object.values(other));
  return Object.values(one).some((name) => names.has(name));
}

/** Without id and name, all projects of a domain would share one namespace. */
function validateFormat(format: string): Finding[] {
  const path = ['bindings', 'namespaceFormat'];
  const placeholders: readonly string[] = format.match(/%.?/gu) ?? [];
  const unknown = placeholders.find((placeholder) => !/^%[nid]$/.test(placeholder));
  if (unknown !== undefined)
    return [{ path, message: `expected %n, %i and %d alone, found ${JSON.stringify(unknown)}` }];
  if (!placeholders.includes('%i') && !placeholders.includes('%n'))
    return [{ path, message: 'expected %i or %n in it: else all projects would have one namespace' }];
  // Placeholders may have any value; a letter suffices to check the text around them.
  const around = format.replace(/%[nid]/g, 'x');
  const problem = namespaceProblem(around.slice(0, MAX_LABEL_LENGTH + 1));
  return problem === undefined
    ? []
    : [{ path, message: `expected a format of namespaces, found one that ${problem}` }];
}

function validateNamespaces({ bindings, tenancy }: StonegateConfiguration): Finding[] {
  const given = Object.entries(bindings.projects).flatMap(([id, { namespace }]) =>
    namespace === undefined ? [] : [{ path: ['bindings', 'projects', id, 'namespace'], namespace }],
  );
  return given.flatMap(({ path, namespace }, index) => {
    const problem = namespaceProblem(namespace);
    if (problem !== undefined)
      return [{ path, message: `expected a namespace, found a name that ${problem}` }];
    const first = given.findIndex((other) => other.namespace === namespace);
    // In arktos mode the projects may belong to two tenants.
    if (tenancy.mode === 'arktos' || first === index) return [];
    return [
      {
        path,
        message: `expected a namespace of its own, found "${namespace}", which another project has`,
      },
    ];
  });
}

function validateTargets(roles: Readonly<Record<string, RoleTarget>>, path: Path): Finding[] {
  return Object.entries(roles).flatMap(([role, target]) => {
    const message =
      'clusterRole' in target ? clusterRoleProblem(target.clusterRole) : nameProblem(target.role);
    return message === undefined ? [] : [{ path: [...path, role], message }];
  });
}

function clusterRoleProblem(name: string): string | undefined {
  if (!name.startsWith('stonegate:') || CLUSTER_ROLES.has(name)) return nameProblem(name);
  return `expected one of ${[...CLUSTER_ROLES.keys()].join(', ')}, or a name of your own, found "${name}"`;
}

/** RBAC requires a name that is one segment of a path. */
function nameProblem(name: string): string | undefined {
  const usable = name !== '.' && name !== '..' && !/[/%]/.test(name);
  return usable ? undefined : `expected the name of a role, found ${JSON.stringify(name)}`;
}
