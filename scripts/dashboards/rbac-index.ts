/** The dashboard of the RBAC index. */
import { type Dashboard, perSecond, series } from './dashboard.ts';

export const RBAC_INDEX: Dashboard = {
  name: 'rbac-index',
  title: 'RBAC index',
  description: 'Whether the index is complete and current, and whether the API server agrees with it.',
  rows: [
    {
      title: 'Is it current?',
      panels: [
        {
          title: 'Behind the newest instance',
          description: 'Revisions by which an instance is behind the one that has seen most.',
          unit: 'short',
          queries: [
            {
              expr: `scalar(max(${series('stonegate_rbac_index_revision')})) - ${series('stonegate_rbac_index_revision')}`,
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Complete',
          description: '1: every resource has been listed. 0: not yet, or access.index is off.',
          unit: 'short',
          queries: [{ expr: series('stonegate_rbac_index_synced'), legend: '{{instance}}' }],
        },
      ],
    },
    {
      title: 'Does the API server agree?',
      panels: [
        {
          title: 'Compared decisions',
          description: 'By result; docs/reference/metrics.md explains each. differed should not occur.',
          unit: 'reqps',
          queries: [
            { expr: perSecond('stonegate_access_verifications_total', ['result']), legend: '{{result}}' },
          ],
        },
        {
          title: 'Off',
          description: 'Tenants whose objects do not fit in the index; in shared mode 1: it is off for all.',
          unit: 'short',
          queries: [{ expr: `max(${series('stonegate_rbac_index_off')})`, legend: 'off' }],
        },
        {
          title: 'Too large',
          description: 'Roles and bindings whose rules or subjects are left out.',
          unit: 'short',
          queries: [{ expr: `max(${series('stonegate_rbac_index_too_large')})`, legend: 'too large' }],
        },
      ],
    },
    {
      title: 'What it costs',
      panels: [
        {
          title: 'Objects',
          description: 'In the index of one process.',
          unit: 'short',
          queries: [
            {
              expr: `max by (resource) (${series('stonegate_rbac_index_objects')})`,
              legend: '{{resource}}',
            },
          ],
        },
        {
          title: 'Memory',
          description:
            'Of the objects in one process, as they are estimated; access.maxIndexBytes bounds it.',
          unit: 'bytes',
          queries: [{ expr: `max(${series('stonegate_rbac_index_bytes')})`, legend: 'estimated' }],
        },
      ],
    },
  ],
};
