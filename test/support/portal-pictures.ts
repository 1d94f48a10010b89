/**
 * The pages of the portal that the documents show in pictures. They are the same bytes as long as the pages
 * are, so that a recorded digest tells whether a picture is as new as its page.
 */
import { hash } from 'node:crypto';
import type { AccessView } from '../../src/features/access-rules/access-page.ts';
import { createMemorySessions, createPortalSealer } from '../../src/features/portal/portal-storage.ts';
import { createFakeClock } from './fake-clock.ts';
import { createFakePortal, keystoneIdentity } from './portal.ts';
import { sealingKey } from './redis/replica.ts';

export const PICTURES = 'docs/images';
/** A file beside the pictures with the digests of each picture and its page. */
export const DIGESTS = `${PICTURES}/portal-pages.json`;

export type Digests = Readonly<Record<string, { readonly page: string; readonly picture: string }>>;

export const digestOf = (content: string | Buffer) => hash('sha256', content);

const NOW = Date.UTC(2026, 10, 28, 9);
const HOUR = 3_600_000;
const random = {
  bytes: (size: number) => Buffer.alloc(size, 9),
  uuid: () => '00000000-0000-4000-8000-000000000000',
  fraction: () => 0.5,
};

const READ = { get: 'all', list: 'all', watch: 'all' } as const;
const NONE = { create: 'none', update: 'none', patch: 'none', delete: 'none' } as const;
const WRITE = { create: 'all', update: 'all', patch: 'all', delete: 'all' } as const;
const rights = (kind: string, cells: typeof WRITE | typeof NONE, otherVerbs: readonly string[] = []) => ({
  ...{ kind, cells: { ...READ, ...cells }, otherVerbs, names: [] },
});

const ACCESS: AccessView = {
  matrix: {
    groups: [
      {
        ...{ scope: 'namespaces', names: ['acme-web'], moreRows: 0 },
        rows: [
          rights('configmaps', WRITE),
          rights('deployments.apps', WRITE, ['deletecollection']),
          rights('pods', WRITE),
          rights('services', WRITE),
        ],
      },
      {
        ...{ scope: 'namespaces', names: ['shop', 'staging'], moreRows: 0 },
        rows: [rights('deployments.apps', NONE), rights('pods', NONE)],
      },
    ],
    moreGroups: 0,
  },
  roles: [
    { kind: 'ClusterRole', name: 'stonegate:edit', everywhere: false, namespaces: ['acme-web'] },
    { kind: 'ClusterRole', name: 'stonegate:read', everywhere: false, namespaces: ['shop', 'staging'] },
  ],
  ...{ hiddenRoles: 0, moreRoles: 0, incompleteReason: undefined },
};

/** The pages by the names of their pictures. */
export async function picturedPages(): Promise<ReadonlyMap<string, string>> {
  const clock = createFakeClock(NOW);
  const portal = createFakePortal({
    ...{ clock, random, access: { accessOf: async () => ACCESS } },
    sessions: createMemorySessions({ maxSessions: 1, clock }),
    sealer: createPortalSealer([sealingKey(7)], random),
    client: { file: Buffer.from(''), sha256: digestOf('') },
  });
  const projects = [
    { id: 'p1', name: 'web' },
    { id: 'p2', name: 'batch' },
  ];
  portal.world.password = { token: 'keystone-token', projects };
  portal.world.identity = keystoneIdentity(NOW + 12 * HOUR);
  const browser = portal.browser();
  await browser.signIn();
  const pages = new Map<string, string>();
  for (const [name, path] of [
    ['portal', '/'],
    ['portal-access', '/access'],
  ] as const) {
    const { status, text } = await browser.get(path);
    if (status !== 200) throw new Error(`${path}: ${status}`);
    pages.set(name, text);
  }
  return pages;
}
