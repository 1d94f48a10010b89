/** Discovery of a small cluster, by path: the core group, `apps`, and a custom group in two versions. */

const resources = (...list: readonly object[]) => ({ kind: 'APIResourceList', resources: list });

export const DISCOVERY: Readonly<Record<string, object>> = {
  '/api/v1': resources(
    { name: 'pods/log', singularName: '', namespaced: true, kind: 'Pod' },
    { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', shortNames: ['po'] },
    { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret' },
    { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', shortNames: ['no'] },
    { name: 'events', singularName: 'event', namespaced: true, kind: 'Event', shortNames: ['ev'] },
  ),
  '/apis': {
    kind: 'APIGroupList',
    groups: [
      { name: 'apps', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
      {
        name: 'events.k8s.io',
        versions: [{ version: 'v1' }],
        preferredVersion: { version: 'v1' },
      },
      {
        name: 'example.com',
        versions: [{ version: 'v2' }, { version: 'v1' }],
        preferredVersion: { version: 'v2' },
      },
    ],
  },
  '/apis/apps/v1': resources({
    name: 'deployments',
    singularName: 'deployment',
    namespaced: true,
    kind: 'Deployment',
    shortNames: ['deploy'],
  }),
  '/apis/events.k8s.io/v1': resources({ name: 'events', namespaced: true, kind: 'Event' }),
  '/apis/example.com/v2': resources({ name: 'widgets', namespaced: false, kind: 'Widget' }),
  '/apis/example.com/v1': resources({ name: 'oldwidgets', namespaced: true, kind: 'OldWidget' }),
};
