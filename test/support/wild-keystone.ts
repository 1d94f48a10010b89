/** Keystones with arbitrary names, roles and states, some of which a cluster cannot represent. */
import fc from 'fast-check';
import type { KeystoneState } from '../../src/features/bindings/desired-state.ts';
import { asUsers } from './provisioning.ts';

const NAMES = [
  'web',
  'shop',
  'default',
  'kube-system',
  'stonegate',
  'My Project_1',
  '%i',
  '',
  'x'.repeat(70),
];
const name = fc.constantFrom(...NAMES);
const domainName = fc.constantFrom('acme', 'globex', 'Default', 'system');
const index = fc.nat({ max: 3 });
const roleName = fc.constantFrom('admin', 'member', 'reader', 'constructor', '__proto__', 'ops');

const wild = fc.record({
  domains: fc.uniqueArray(fc.record({ name: domainName, enabled: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
    selector: ({ name: each }) => each,
  }),
  projects: fc.array(fc.record({ name, domain: index, enabled: fc.boolean() }), { maxLength: 5 }),
  held: fc.array(fc.record({ user: index, role: roleName, project: index, domain: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  }),
  users: fc.boolean(),
});

export const wildKeystone = wild.map(({ domains, projects, held, users }): KeystoneState => {
  const listed = domains.map((domain) => ({ ...domain, id: `d-${domain.name}` }));
  const domainAt = (at: number) => listed[at % listed.length] ?? { id: 'd', name: 'd', enabled: true };
  const all = projects.map((project, at) => ({
    id: `p-${at}`,
    name: project.name,
    domainID: domainAt(project.domain).id,
    enabled: project.enabled,
  }));
  const assignments = held.map(({ user, role, project, domain }) => {
    const home = domainAt(user);
    const target = all[project % Math.max(1, all.length)];
    const scope =
      domain || target === undefined
        ? ({ kind: 'domain', domain: home } as const)
        : ({ kind: 'project', project: { ...target, domain: home } } as const);
    const holder = { id: `u-${user}`, name: user === 0 ? ' ' : `user${user}`, domain: home };
    return { user: holder, role: { id: role, name: role }, scope };
  });
  const holders = users
    ? asUsers(assignments, ['u-3'])
    : ({ kind: 'groups', roleNames: ['member', ...held.map(({ role }) => role)] } as const);
  return { domains: listed, projects: all, holders };
});

/** Everything is enabled, and there is at least one project; users of the first project send requests. */
export const enabledKeystone = wildKeystone
  .filter(({ projects }) => projects.length > 0)
  .map(
    (state): KeystoneState => ({
      ...state,
      domains: state.domains.map((domain) => ({ ...domain, enabled: true })),
      projects: state.projects.map((project) => ({ ...project, enabled: true })),
    }),
  );
